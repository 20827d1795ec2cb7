/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** Copies the rows of shards between servers, large tables in several parts at a time, and builds their indexes afterwards. Internal. */
@NullMarked
package org.shardflake.move.internal.copy;

import org.jspecify.annotations.NullMarked;
