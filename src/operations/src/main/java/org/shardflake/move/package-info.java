/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * Moves shards between live servers while the application keeps writing.
 *
 * <p>Begin with {@link org.shardflake.move.Mover}. PostgreSQL's logical replication carries the rows; the catalog says which server
 * has a shard, and everything else can be rebuilt from it.
 */
@NullMarked
package org.shardflake.move;

import org.jspecify.annotations.NullMarked;
