/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The command {@code console}: what it answers, and the commands that it runs. */
@NullMarked
package org.shardflake.cli.command.console;

import org.jspecify.annotations.NullMarked;
