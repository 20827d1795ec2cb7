/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import org.shardflake.ShardSet;

/** Moves shards for a plan. */
@FunctionalInterface
public interface MoveRunner {

    /**
     * Moves shards, and returns when the shard map has all of them on the target. When called again for shards whose move was
     * interrupted, it continues that move.
     */
    void move(String from, String to, ShardSet shards) throws InterruptedException;
}
