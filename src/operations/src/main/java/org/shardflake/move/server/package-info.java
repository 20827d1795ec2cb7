/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** The servers of a move. */
@NullMarked
package org.shardflake.move.server;

import org.jspecify.annotations.NullMarked;
