/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Reads option values from the environment or a file. */
@NullMarked
package org.shardflake.cli.config;

import org.jspecify.annotations.NullMarked;
