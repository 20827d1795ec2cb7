/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code map}. */
@NullMarked
package org.shardflake.cli.command.map;

import org.jspecify.annotations.NullMarked;
