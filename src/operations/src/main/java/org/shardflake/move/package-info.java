/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * Moves shards between live servers while the application keeps writing.
 *
 * <p>Begin with {@link org.shardflake.move.Mover}. PostgreSQL's logical replication carries the rows; the catalog says which server
 * has a shard, and everything else can be rebuilt from it.
 *
 * <pre>{@code
 * Mover mover = Mover.at(catalog, MoveSettings.DEFAULT, MoveListener.NONE);
 * Move move = mover.beginOrResume("db1", "db2", ShardSet.parse("6-7"), "db1 is full");
 * mover.carryOut(move, false);
 * }</pre>
 */
@NullMarked
package org.shardflake.move;

import org.jspecify.annotations.NullMarked;
