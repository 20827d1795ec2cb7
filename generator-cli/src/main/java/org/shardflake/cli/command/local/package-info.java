/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code local} and {@code demo}, which start their own servers. */
@NullMarked
package org.shardflake.cli.command.local;

import org.jspecify.annotations.NullMarked;
