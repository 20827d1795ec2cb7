/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** What ends a move early, or refuses it: each exception tells one kind. */
@NullMarked
package org.shardflake.move.exception;

import org.jspecify.annotations.NullMarked;
