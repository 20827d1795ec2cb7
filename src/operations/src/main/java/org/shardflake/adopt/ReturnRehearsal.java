/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import org.shardflake.ShardSet;

/**
 * A rehearsal of the way back to the old database.
 *
 * @param now the shards that could come back, in order, each with about the pause that its writers would have
 * @param rows the number of their rows that the old tables have otherwise or not, or would lose
 * @param refusals why others could not: for each such shard, what the old tables cannot hold
 * @param over the shards that have left the old database
 */
public record ReturnRehearsal(List<SliceReport> now, long rows, List<AdoptRefusedException> refusals, ShardSet over) {

    public ReturnRehearsal {
        now = List.copyOf(now);
        refusals = List.copyOf(refusals);
    }
}
