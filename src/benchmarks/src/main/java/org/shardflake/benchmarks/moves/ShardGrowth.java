/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.cluster.PostgresCluster;

/** How long it takes to move some shards with a few rows out of databases with few and with many shards. */
final class ShardGrowth {

    private static final int ROWS = 10;

    private final Rounds seconds = new Rounds();
    private final Map<Case, List<Double>> pauses = new LinkedHashMap<>();

    /**
     * What is measured.
     *
     * @param shards of the database
     * @param moved of these
     */
    record Case(int shards, int moved) {}

    private ShardGrowth() {}

    static ShardGrowth measure(PostgresCluster cluster, Sizes sizes) throws Exception {
        ShardGrowth growth = new ShardGrowth();
        List<Installation> installations = new ArrayList<>();
        try {
            for (int shards : sizes.databases()) {
                System.out.printf("    deploying to %,d shards%n", shards);
                Installation installation = Installation.onFirst(cluster, "growth" + shards, 2, shards);
                installations.add(installation);
                installation.deploy(Photos.CHANGELOG);
                int most = sizes.moved().stream()
                        .mapToInt(moved -> Math.min(moved, shards))
                        .max()
                        .orElseThrow();
                Photos.fill(installation, "db1", ShardSet.range(0, most - 1), ROWS);
            }
            for (int round = 0; round < rounds(sizes); round++) {
                for (Installation installation : Rounds.order(installations, round)) {
                    growth.round(installation, sizes.moved());
                }
            }
        } finally {
            for (Installation installation : installations) {
                installation.close();
            }
        }
        return growth;
    }

    /** Each is two measurements: there and back. */
    static int rounds(Sizes sizes) {
        return Math.max(1, sizes.growthRounds() / 2);
    }

    private void round(Installation installation, List<Integer> counts) throws Exception {
        for (int moved : counts) {
            if (moved <= installation.shards()) {
                for (String target : List.of("db2", "db1")) {
                    move(installation, new Case(installation.shards(), moved), target);
                }
            }
        }
    }

    private void move(Installation installation, Case its, String target) throws Exception {
        WholeMove move = WholeMove.run(installation, ShardSet.range(0, its.moved() - 1), target);
        System.out.printf("    %,d of %,d shards: %.1f s%n", its.moved(), its.shards(), move.seconds());
        seconds.add(its.toString(), move.seconds());
        pauses.computeIfAbsent(its, none -> new ArrayList<>()).addAll(move.pauses());
    }

    /** What was measured, in its order; not more shards than the database has. */
    Set<Case> cases() {
        return pauses.keySet();
    }

    /** How long the moves of a case took. */
    Spread seconds(Case its) {
        return seconds.of(its.toString());
    }

    /** The pauses of all cutovers of a case, as the command says them, in milliseconds. */
    Distribution pauses(Case its) {
        return Distribution.of(pauses.getOrDefault(its, List.of()));
    }
}
