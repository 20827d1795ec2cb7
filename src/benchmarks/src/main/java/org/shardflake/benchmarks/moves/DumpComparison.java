/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.cluster.PostgresCluster;

/**
 * Moves of all shards beside dumps of them, in turn.
 *
 * @param seconds of each round
 * @param bytes of the tables
 * @param notMeasured why there is no dump among the candidates, empty if there is one
 */
record DumpComparison(Rounds seconds, long bytes, String notMeasured) {

    static final String MOVE = "move";
    static final String DUMP = "pg_dump -Fd -j2 and pg_restore -j2";
    static final String PLAIN_DUMP = "the same, dump not compressed (-Z0)";

    /** Not counted: in it servers make the files of the write-ahead log that they use again from then on. */
    private static final int WARM_UP_ROUNDS = 1;

    /** Measures; the application's rows are spread evenly over the shards. */
    static DumpComparison measure(PostgresCluster cluster, Sizes sizes) throws Exception {
        String obstacle = DumpAndRestore.obstacle(cluster.server(0));
        try (Installation installation = Installation.onFirst(cluster, "whole", 2, sizes.shards())) {
            installation.deploy(Photos.CHANGELOG);
            ShardSet all = ShardSet.range(0, sizes.shards() - 1);
            Photos.fill(installation, "db1", all, Photos.rows((double) sizes.megabytes() / sizes.shards()));
            long bytes = Photos.bytes(installation, "db1", all);
            DumpAndRestore dump = new DumpAndRestore(installation);
            Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
            candidates.put(
                    MOVE,
                    () -> said(
                            MOVE,
                            WholeMove.run(installation, all, free(installation)).seconds()));
            if (obstacle.isEmpty()) {
                candidates.put(DUMP, () -> said(DUMP, dump(dump, installation, List.of())));
                candidates.put(PLAIN_DUMP, () -> said(PLAIN_DUMP, dump(dump, installation, List.of("-Z0"))));
            }
            return new DumpComparison(Rounds.run(WARM_UP_ROUNDS, sizes.rounds(), candidates), bytes, obstacle);
        }
    }

    private static double dump(DumpAndRestore dump, Installation installation, List<String> options) throws Exception {
        String target = free(installation);
        return dump.seconds(target.equals("db2") ? "db1" : "db2", target, options);
    }

    /** The server of the two that has no shards: where they go next. */
    private static String free(Installation installation) {
        return installation.shardsOf("db2").isEmpty() ? "db2" : "db1";
    }

    private static double said(String what, double seconds) {
        System.out.printf("    %-40s %s s%n", what, Figures.number(seconds));
        return seconds;
    }
}
