/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code cdc}. */
@NullMarked
package org.shardflake.cli.command.cdc;

import org.jspecify.annotations.NullMarked;
