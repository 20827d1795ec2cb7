/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code rebalance}, and the options of all commands that plan moves. */
@NullMarked
package org.shardflake.cli.command.rebalance;

import org.jspecify.annotations.NullMarked;
