/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The command {@code sql}. */
@NullMarked
package org.shardflake.cli.command.sql;

import org.jspecify.annotations.NullMarked;
