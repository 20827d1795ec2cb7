/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code local} and {@code demo}, which start servers of their own. */
@NullMarked
package org.shardflake.cli.command.local;

import org.jspecify.annotations.NullMarked;
