/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands: each parses, calls the package that does the work, and prints. */
@NullMarked
package org.shardflake.cli.command;

import org.jspecify.annotations.NullMarked;
