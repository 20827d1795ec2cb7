/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code restore-point}. */
@NullMarked
package org.shardflake.cli.command.restorepoint;

import org.jspecify.annotations.NullMarked;
