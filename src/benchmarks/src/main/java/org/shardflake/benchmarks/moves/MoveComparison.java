/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.DumpPrograms;
import org.shardflake.benchmarks.installation.ShardflakeCommand;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.cluster.PostgresCluster;

/** All that is measured about moves, from starting servers to writing the page. */
public final class MoveComparison {

    private MoveComparison() {}

    /** Measures, prints the goals and writes {@code moves.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "Moves", "moves.");
        Sizes sizes = Sizes.of(sizing);
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(2);
                Connection connection = cluster.server(0).connect()) {
            String obstacle = DumpPrograms.obstacle(cluster.server(0));
            if (!obstacle.isEmpty()) {
                System.out.println("moves will not be compared with pg_dump: " + obstacle);
            }
            Results results = measure(cluster, sizes);
            results.targets().forEach(System.out::println);
            new MovePage(results, sizes)
                    .write(Machine.describe(connection), sizing)
                    .write(Report.directory(), "moves");
        }
    }

    private static Results measure(PostgresCluster cluster, Sizes sizes) throws Exception {
        Interval start = ShardflakeCommand.startSeconds(sizes.rounds());
        System.out.println("whole moves beside dump and restore");
        DumpComparison dumps = DumpComparison.measure(cluster, sizes.shards(), sizes.megabytes(), sizes.rounds());
        System.out.println("one large shard beside dump and restore");
        DumpComparison large = DumpComparison.measure(cluster, 1, sizes.table(), sizes.rounds());
        System.out.println("cutovers under load");
        CutoverPauses pauses = CutoverPauses.measure(cluster, sizes);
        return new Results(start, dumps, large, pauses);
    }

    /**
     * The measured values.
     *
     * @param start of the command alone, which every time contains, in seconds
     * @param dumps of many shards
     * @param large of one shard
     */
    record Results(Interval start, DumpComparison dumps, DumpComparison large, CutoverPauses pauses) {

        /** The goals and whether they are met. */
        List<Target> targets() {
            List<Target> targets = new ArrayList<>();
            if (dumps.notMeasured().isEmpty()) {
                targets.add(Target.atLeast(
                        "whole move, times as fast as dump and restore",
                        1,
                        "",
                        dumps.seconds().ratio(DumpComparison.DUMP, DumpComparison.MOVE)));
                targets.add(Target.atLeast(
                        "whole move beside a dump not compressed, times as fast as dump and restore",
                        1.2,
                        "",
                        dumps.seconds().ratio(DumpComparison.PLAIN_DUMP, DumpComparison.MOVE)));
                targets.add(Target.atLeast(
                        "whole move of one large shard beside a dump not compressed, times as fast as dump and restore",
                        1.2,
                        "",
                        large.seconds().ratio(DumpComparison.PLAIN_DUMP, DumpComparison.MOVE)));
            }
            targets.add(
                    atMost("write pause of a cutover, p50", 30, pauses.pauses().percentile(50)));
            targets.add(
                    atMost("write pause of a cutover, p99", 100, pauses.pauses().percentile(99)));
            targets.add(Target.none("transactions that failed", pauses.failed()));
            targets.add(Target.none("acknowledged writes that are lost", pauses.lost()));
            targets.add(Target.none("writes that are there twice", pauses.doubled()));
            return targets;
        }

        private static Target atMost(String what, double most, double millis) {
            return Target.atMost(what, most, "ms", Interval.of(List.of(millis)));
        }
    }

    /**
     * The amounts to measure, from system properties {@code moves.*}.
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
    record Sizes(
            int rounds,
            int megabytes,
            int shards,
            int table,
            int cutovers,
            int groupShards,
            int loadThreads,
            int loadRestMillis) {

        static Sizes of(Sizing sizing) {
            return new Sizes(
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
}
