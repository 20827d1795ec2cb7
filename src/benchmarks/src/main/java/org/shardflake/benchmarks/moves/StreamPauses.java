/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.installation.ShardflakeCommand.Result;
import org.shardflake.benchmarks.installation.Writers;
import org.shardflake.benchmarks.moves.WholeMove.CutoverLine;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;

/** Pauses of the same cutovers with and without a change stream, in turn. */
public final class StreamPauses {

    private static final String WITHOUT = "without a change stream";
    private static final String WITH = "with a change stream and the slots of a reader";
    private static final int ROWS = 100;
    private static final int WRITERS = 2;
    private static final int REST_MILLIS = 5;

    private final BenchmarkInstallation installation;
    private final ShardSet all;
    private final Map<String, List<Double>> pauses = new LinkedHashMap<>();
    private String target = "db2";

    private StreamPauses(BenchmarkInstallation installation, ShardSet all) {
        this.installation = installation;
        this.all = all;
    }

    /** Measures and prints. */
    public static void print() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "Streams", "streams.");
        int rounds = sizing.number("rounds", 10);
        int shards = sizing.number("shards", 30);
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(2);
                BenchmarkInstallation installation = BenchmarkInstallation.onFirst(cluster, "streamed", 2, shards)) {
            installation.deployPhotos(Photos.CHANGELOG);
            ShardSet all = ShardSet.range(0, shards - 1);
            Photos.fill(installation, "db1", all, ROWS);
            try (ShardRouter router = installation.router(WRITERS)) {
                new StreamPauses(installation, all).measure(rounds, new Writes(router, shards));
            }
        }
    }

    private void measure(int rounds, Writes writes) throws Exception {
        List<Double> without = new ArrayList<>();
        List<Double> with = new ArrayList<>();
        Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
        candidates.put(WITHOUT, () -> kept(without, move(WITHOUT)));
        candidates.put(WITH, () -> kept(with, move(WITH)));
        try (Writers writers =
                new Writers(all.size(), WRITERS, REST_MILLIS, (shard, random) -> writes.insertAndChange(shard))) {
            Rounds.run(1, rounds, candidates);
        }
        List<Double> more = new ArrayList<>();
        for (int round = 1; round < with.size(); round++) {
            more.add(with.get(round) - without.get(round));
        }
        pauses.forEach((candidate, its) -> {
            Distribution pause = Distribution.of(its);
            System.out.printf(
                    "%-50s %s cutovers: p50 %s ms, p99 %s ms, max %s ms%n",
                    candidate,
                    pause.size(),
                    Figures.number(pause.percentile(50)),
                    Figures.number(pause.percentile(99)),
                    Figures.number(pause.max()));
        });
        System.out.println(Target.none("failed transactions", writes.failed()));
        System.out.println(Target.atMost("median pause with a change stream, more", 5, "ms", Interval.of(more)));
    }

    private static double kept(List<Double> medians, double median) {
        medians.add(median);
        return median;
    }

    /** Moves all shards to the other server; the first moves, which warm up, count in the distribution only. */
    private double move(String candidate) throws Exception {
        boolean isThere = Sql.with(
                installation.connect("db1"),
                connection -> Sql.isTrue(
                        connection, "SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = 'shardflake_cdc')"));
        if (candidate.equals(WITH) && !isThere) {
            installation.command().run("cdc", "create");
            for (String server : List.of("db1", "db2")) {
                Sql.with(installation.connect(server), connection -> {
                    Sql.execute(
                            connection,
                            "SELECT pg_create_logical_replication_slot('shardflake_cdc_benchmark', 'pgoutput')");
                    return true;
                });
            }
        } else if (candidate.equals(WITHOUT) && isThere) {
            installation.command().run("cdc", "drop", "--yes");
        }
        WholeMove.settle(installation);
        Result result = installation.command().run("move", "run", "--shards", all.toString(), "--to", target);
        target = target.equals("db2") ? "db1" : "db2";
        List<Double> its = new ArrayList<>();
        for (String message : result.messages()) {
            CutoverLine.parse(message).ifPresent(line -> its.add(line.pauseMillis()));
        }
        if (its.size() != all.size()) {
            throw new IllegalStateException(
                    "the command says %s cutovers: %s".formatted(its.size(), result.messages()));
        }
        pauses.computeIfAbsent(candidate, name -> new ArrayList<>()).addAll(its);
        return Distribution.of(its).percentile(50);
    }
}
