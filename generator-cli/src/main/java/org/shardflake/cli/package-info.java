/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The {@code shardflake} command: its start, errors and exit codes. The commands are in {@code command}. */
@NullMarked
package org.shardflake.cli;

import org.jspecify.annotations.NullMarked;
