/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Writes results in several formats: tables, JSON and YAML. */
@NullMarked
package org.shardflake.cli.output;

import org.jspecify.annotations.NullMarked;
