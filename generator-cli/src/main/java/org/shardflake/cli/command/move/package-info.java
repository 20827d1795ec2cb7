/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code move}, and the options and reports of all commands that move shards. */
@NullMarked
package org.shardflake.cli.command.move;

import org.jspecify.annotations.NullMarked;
