/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.List;
import org.shardflake.benchmarks.report.Sizing;

/**
 * How much is measured, by system properties {@code moves.*}.
 *
 * @param rounds of moves and dumps in turn
 * @param megabytes of tables in these moves, in MiB
 * @param shards of these moves
 * @param cutovers whose pauses are measured
 * @param groupShards in the move with these cutovers
 * @param loadThreads that write beside the cutovers
 * @param loadRestMillis between two transactions of such a thread
 * @param growthRounds of what shows growth
 * @param sizes of groups of shards, in MiB
 * @param sizedShards in each of these groups
 * @param databases how many shards the database has
 * @param moved how many of them are moved
 * @param servers in the installation, of which one is drained
 * @param drainedShards on that server
 * @param drainedMegabytes on that server, in MiB
 */
record Sizes(
        int rounds,
        int megabytes,
        int shards,
        int cutovers,
        int groupShards,
        int loadThreads,
        int loadRestMillis,
        int growthRounds,
        List<Integer> sizes,
        int sizedShards,
        List<Integer> databases,
        List<Integer> moved,
        List<Integer> servers,
        int drainedShards,
        int drainedMegabytes) {

    /** Refuses servers between which nothing can be moved. */
    Sizes {
        if (servers.stream().anyMatch(count -> count < 2)) {
            throw new IllegalArgumentException("moves.servers is %s; a move needs 2".formatted(servers));
        }
    }

    static Sizes of(Sizing sizing) {
        return new Sizes(
                sizing.number("rounds", 5),
                sizing.number("megabytes", 1000),
                sizing.number("shards", 50),
                sizing.number("cutovers", 200),
                sizing.number("group", 100),
                sizing.number("threads", 16),
                sizing.number("rest", 25),
                sizing.number("growthRounds", 3),
                sizing.numbers("sizes", List.of(1, 10, 100, 1024)),
                sizing.number("sizedShards", 10),
                sizing.numbers("databases", List.of(100, 500, 2000, 8192)),
                sizing.numbers("moved", List.of(1, 10, 100)),
                sizing.numbers("servers", List.of(2, 3, 4, 5, 6)),
                sizing.number("drainedShards", 100),
                sizing.number("drainedMegabytes", 100));
    }

    int mostServers() {
        return servers.stream().mapToInt(Integer::intValue).max().orElseThrow();
    }
}
