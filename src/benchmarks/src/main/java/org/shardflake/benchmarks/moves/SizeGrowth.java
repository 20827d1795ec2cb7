/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.ArrayList;
import java.util.List;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.cluster.PostgresCluster;

/** How long groups of shards of different sizes take to move, between two servers that have all of them. */
final class SizeGrowth {

    private final List<Integer> sizes;
    private final List<Long> bytes = new ArrayList<>();
    private final Rounds seconds = new Rounds();

    private SizeGrowth(List<Integer> sizes) {
        this.sizes = sizes;
    }

    static SizeGrowth measure(PostgresCluster cluster, Sizes sizes) throws Exception {
        SizeGrowth growth = new SizeGrowth(sizes.sizes());
        int shards = sizes.sizedShards();
        try (Installation installation =
                Installation.onFirst(cluster, "sizes", 2, shards * sizes.sizes().size())) {
            installation.deploy(Photos.CHANGELOG);
            for (int group = 0; group < sizes.sizes().size(); group++) {
                ShardSet its = group(group, shards);
                Photos.fill(
                        installation,
                        "db1",
                        its,
                        Photos.rows((double) sizes.sizes().get(group) / shards));
                growth.bytes.add(Photos.bytes(installation, "db1", its));
            }
            for (int round = 0; round < sizes.growthRounds(); round++) {
                growth.round(installation, shards, round);
            }
        }
        return growth;
    }

    private void round(Installation installation, int shards, int round) throws Exception {
        String target = round % 2 == 0 ? "db2" : "db1";
        for (int size : Rounds.order(sizes, round)) {
            WholeMove move = WholeMove.run(installation, group(sizes.indexOf(size), shards), target);
            System.out.printf("    %d MiB: %.1f s%n", size, move.seconds());
            seconds.add(String.valueOf(size), move.seconds());
        }
    }

    private static ShardSet group(int number, int shards) {
        return ShardSet.range(number * shards, (number + 1) * shards - 1);
    }

    /** The sizes that were wanted, in MiB. */
    List<Integer> sizes() {
        return sizes;
    }

    /** How large the tables of a group are, in MiB. */
    double mebibytes(int size) {
        return bytes.get(sizes.indexOf(size)) / (double) (1 << 20);
    }

    /** How long its moves took. */
    Spread seconds(int size) {
        return seconds.of(String.valueOf(size));
    }
}
