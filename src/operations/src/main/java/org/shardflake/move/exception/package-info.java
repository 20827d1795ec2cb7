/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** The exceptions of moves: each stands for one reason to end a move early or to refuse it. */
@NullMarked
package org.shardflake.move.exception;

import org.jspecify.annotations.NullMarked;
