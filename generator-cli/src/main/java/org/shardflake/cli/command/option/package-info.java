/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Options that commands share, and the invocation that they are read from. */
@NullMarked
package org.shardflake.cli.command.option;

import org.jspecify.annotations.NullMarked;
