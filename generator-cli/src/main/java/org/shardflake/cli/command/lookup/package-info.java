/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code lookup}. */
@NullMarked
package org.shardflake.cli.command.lookup;

import org.jspecify.annotations.NullMarked;
