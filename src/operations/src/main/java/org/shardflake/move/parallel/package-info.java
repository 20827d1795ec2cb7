/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** Several moves at a time, within the limits of each server, and how long a move may take. */
@NullMarked
package org.shardflake.move.parallel;

import org.jspecify.annotations.NullMarked;
