/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code server}. */
@NullMarked
package org.shardflake.cli.command.server;

import org.jspecify.annotations.NullMarked;
