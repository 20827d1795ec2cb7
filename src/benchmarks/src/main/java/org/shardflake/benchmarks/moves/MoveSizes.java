/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import org.shardflake.benchmarks.report.Sizing;

/**
 * How much is measured, by system properties {@code moves.*}.
 *
 * @param rounds of moves and dumps in turn
 * @param megabytes of tables in these moves, in MiB
 * @param shards of these moves
 * @param table of the tables of one more shard that is moved by itself, in MiB
 * @param cutovers whose pauses are measured
 * @param groupShards in the move with these cutovers
 * @param loadThreads that write beside the cutovers
 * @param loadRestMillis between two transactions of such a thread
 */
record MoveSizes(
        int rounds,
        int megabytes,
        int shards,
        int table,
        int cutovers,
        int groupShards,
        int loadThreads,
        int loadRestMillis) {

    static MoveSizes of(Sizing sizing) {
        return new MoveSizes(
                sizing.number("rounds", 5),
                sizing.number("megabytes", 1000),
                sizing.number("shards", 50),
                sizing.number("table", 1000),
                sizing.number("cutovers", 200),
                sizing.number("group", 100),
                sizing.number("threads", 16),
                sizing.number("rest", 25));
    }
}
