/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.cluster.PostgresCluster;

/** How long it takes to drain a server that has all shards, when one to five empty ones get them. */
final class ServerGrowth {

    private final Rounds seconds = new Rounds();
    private double mebibytes;

    private ServerGrowth() {}

    static ServerGrowth measure(PostgresCluster cluster, Sizes sizes) throws Exception {
        ServerGrowth growth = new ServerGrowth();
        for (int round = 0; round < sizes.growthRounds(); round++) {
            for (int servers : Rounds.order(sizes.servers(), round)) {
                growth.drain(cluster, sizes, servers);
            }
        }
        return growth;
    }

    private void drain(PostgresCluster cluster, Sizes sizes, int servers) throws Exception {
        int shards = sizes.drainedShards();
        try (Installation installation = Installation.onFirst(cluster, "drained", servers, shards)) {
            installation.deploy(Photos.CHANGELOG);
            ShardSet all = ShardSet.range(0, shards - 1);
            Photos.fill(installation, "db1", all, Photos.rows((double) sizes.drainedMegabytes() / shards));
            mebibytes = Photos.bytes(installation, "db1", all) / (double) (1 << 20);
            WholeMove drained = WholeMove.drain(installation, "db1");
            if (drained.pauses().size() != shards) {
                throw new IllegalStateException("%d shards were cut over, not %d"
                        .formatted(drained.pauses().size(), shards));
            }
            System.out.printf("    from 1 to %d others: %.1f s%n", servers - 1, drained.seconds());
            seconds.add(String.valueOf(servers), drained.seconds());
        }
    }

    /** How long the drains of an installation with so many servers took. */
    Spread seconds(int servers) {
        return seconds.of(String.valueOf(servers));
    }

    /** How large the tables were, in MiB. */
    double mebibytes() {
        return mebibytes;
    }
}
