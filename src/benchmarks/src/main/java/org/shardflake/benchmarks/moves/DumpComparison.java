/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.BenchmarkInstallation.Databases;
import org.shardflake.benchmarks.installation.DumpPrograms;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.FunctionLibrary;

/**
 * Moves of all shards beside dumps of them, in turn.
 *
 * @param seconds of each round
 * @param bytes of the tables
 * @param stages of one more move, by what it does
 * @param notMeasured why there is no dump among the candidates, empty if there is one
 */
record DumpComparison(Rounds seconds, long bytes, Map<String, Double> stages, String notMeasured) {

    static final String MOVE = "move";
    static final String DUMP = "pg_dump -Fd -j2 and pg_restore -j2";
    static final String PLAIN_DUMP = "the same, dump not compressed (-Z0)";

    static final String PIPE = "COPY to COPY, no index, nothing else";

    /** The number of rounds that don't count, in which servers create the files of the write-ahead log that they reuse afterwards. */
    private static final int WARM_UP_ROUNDS = 1;

    /**
     * Measures; the application's rows are spread evenly over the shards.
     *
     * @param megabytes of the tables, about
     */
    static DumpComparison measure(PostgresCluster cluster, int shards, int megabytes, int rounds) throws Exception {
        String obstacle = DumpPrograms.obstacle(cluster.server(0));
        try (BenchmarkInstallation installation = BenchmarkInstallation.onFirst(cluster, "whole", 2, shards)) {
            installation.deployPhotos(Photos.CHANGELOG);
            ShardSet all = ShardSet.range(0, shards - 1);
            Photos.fill(installation, "db1", all, Photos.rows((double) megabytes / shards));
            long bytes = Photos.bytes(installation, "db1", all);
            Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
            candidates.put(MOVE, () -> said(MOVE, WholeMove.seconds(installation, all, free(installation))));
            if (obstacle.isEmpty()) {
                candidates.put(DUMP, () -> said(DUMP, DumpAndRestore.seconds(installation, free(installation))));
                candidates.put(
                        PLAIN_DUMP,
                        () -> said(PLAIN_DUMP, DumpAndRestore.seconds(installation, free(installation), "-Z0")));
            }
            candidates.put(PIPE, () -> said(PIPE, RowPipe.seconds(installation, all, free(installation))));
            Rounds seconds = Rounds.run(WARM_UP_ROUNDS, rounds, candidates);
            WholeMove.settle(installation);
            return new DumpComparison(
                    seconds, bytes, MoveStages.measure(installation, all, free(installation)), obstacle);
        }
    }

    /** The server of the two that has no shards: where they go next. */
    private static String free(BenchmarkInstallation installation) {
        return installation.shardsOf("db2").isEmpty() ? "db2" : "db1";
    }

    /** The other server of the two. */
    static String source(String target) {
        return target.equals("db1") ? "db2" : "db1";
    }

    private static double said(String what, double seconds) {
        System.out.printf("    %-40s %s s%n", what, Figures.number(seconds));
        return seconds;
    }

    /** A copy of all shards of one server, by {@code pg_dump} and {@code pg_restore}, into a separate database of another. */
    static final class DumpAndRestore {

        private static final String DATABASE = "restored";

        private DumpAndRestore() {}

        /**
         * Copies the shards and removes the copy, and returns how many seconds copying took.
         *
         * @param options of pg_dump besides {@code -Fd -j2}
         */
        static double seconds(BenchmarkInstallation installation, String target, String... options)
                throws SQLException, IOException, InterruptedException {
            String source = source(target);
            PostgresServer server = installation.server(target);
            try (Databases restored = new Databases(List.of(server), DATABASE)) {
                try (Connection connection = server.connect(DATABASE)) {
                    FunctionLibrary.deploy(connection); // The shards' defaults and fences call it.
                }
                installation.checkpoint();
                String dump = restored.directory().resolve("dump").toString();
                List<String> dumping = new ArrayList<>(List.of("pg_dump", "-Fd", "-j2"));
                dumping.addAll(List.of(options));
                dumping.addAll(List.of("-n", "shard_*", "-f", dump, installation.uri(source)));
                long start = System.nanoTime();
                DumpPrograms.run(dumping);
                DumpPrograms.run(List.of("pg_restore", "-j2", "-d", server.uri(DATABASE), dump));
                double seconds = (System.nanoTime() - start) / 1e9;
                requireRows(installation, source, server);
                return seconds;
            }
        }

        /** Requires all rows, so that nothing counts as copied that was not. */
        private static void requireRows(BenchmarkInstallation installation, String source, PostgresServer restored)
                throws SQLException {
            try (Connection from = installation.connect(source);
                    Connection to = restored.connect(DATABASE)) {
                for (int shard = 0; shard < installation.shards(); shard++) {
                    String query =
                            "SELECT (SELECT count(*) FROM shard_%1$04d.photo) + (SELECT count(*) FROM shard_%1$04d.tag)"
                                    .formatted(shard);
                    if (Sql.number(from, query) != Sql.number(to, query)) {
                        throw new IllegalStateException("not all rows of shard %d were restored".formatted(shard));
                    }
                }
            }
        }
    }
}
