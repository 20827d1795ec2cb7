/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.growth;

import java.util.function.IntSupplier;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;

/** A router over many shards of one server, compared with the same router over one of them. */
public final class GrowthComparison {

    private final ShardLoad load;
    private final int warmUp;
    private final int seconds;

    private GrowthComparison(ShardLoad load, int warmUp, int seconds) {
        this.load = load;
        this.warmUp = warmUp;
        this.seconds = seconds;
    }

    /** Measures. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "Growth", "growth.");
        int shards = sizing.number("shards", 1000);
        int rounds = sizing.number("rounds", 1);
        int manyThreads = sizing.number("threads", 64);
        int connections = sizing.number("pool", 8);
        try (PostgresCluster cluster = PostgresCluster.builder()
                        .provider(PostgresProvider.EMBEDDED)
                        .servers(1)
                        .start();
                ShardServer server = ShardServer.prepare(cluster, shards)) {
            GrowthComparison comparison = new GrowthComparison(
                    new ShardLoad(server, connections), sizing.number("warmup", 15), sizing.number("seconds", 10));
            for (int round = 0; round < rounds; round++) {
                comparison.compare(ShardLoad.uniform(1), "1 shard", connections, false);
                comparison.compare(ShardLoad.uniform(shards), "all", connections, false);
                comparison.compare(ShardLoad.uniform(1), "1 shard", manyThreads, false);
                comparison.compare(ShardLoad.uniform(shards), "all", manyThreads, false);
                comparison.compare(ShardLoad.zipf(shards), "Zipf", 2 * connections, false);
                comparison.compare(ShardLoad.uniform(shards), "all, counts", connections, true);
            }
        }
    }

    private void compare(IntSupplier shards, String what, int threads, boolean counts) throws Exception {
        ShardLoad.Figures figures = load.run(shards, threads, warmUp, seconds, counts);
        System.out.printf(
                "%-12s %2d threads: %6.0f/s, p99 %6.2f ms, %4.0f + %4.0f µs, largest backend %4.0f MB%n",
                what,
                threads,
                figures.perSecond(),
                figures.p99(),
                figures.client(),
                figures.backends(),
                figures.largest());
    }
}
