/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.growth;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;

/** A router over many shards of one server, compared with the same router over one of them. */
public final class ManyShards {

    private final ShardLoad load;
    private final int warmUp;
    private final int seconds;
    private final List<List<String>> rows = new ArrayList<>();

    private ManyShards(ShardLoad load, int warmUp, int seconds) {
        this.load = load;
        this.warmUp = warmUp;
        this.seconds = seconds;
    }

    /** Measures, and writes the page {@code shards.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "ManyShards", "many.");
        int shards = sizing.number("shards", 1000);
        int manyThreads = sizing.number("threads", 64);
        int connections = sizing.number("pool", 8);
        int warmUp = sizing.number("warmup", 15);
        int seconds = sizing.number("seconds", 10);
        try (PostgresCluster cluster = PostgresCluster.builder()
                        .provider(PostgresProvider.EMBEDDED)
                        .servers(1)
                        .start();
                ShardServer server = ShardServer.prepare(cluster, shards)) {
            ManyShards all = new ManyShards(server.load(connections), warmUp, seconds);
            ShardLoad.Figures one = all.measure("one shard", ShardLoad.uniform(1), 1, connections, false);
            ShardLoad.Figures many = all.measure("all shards", ShardLoad.uniform(shards), shards, connections, false);
            ShardLoad.Figures oneBusy = all.measure("one shard", ShardLoad.uniform(1), 1, manyThreads, false);
            ShardLoad.Figures manyBusy =
                    all.measure("all shards", ShardLoad.uniform(shards), shards, manyThreads, false);
            all.measure("all shards by Zipf's law", ShardLoad.zipf(shards), shards, 2 * connections, false);
            ShardLoad.Figures counts = all.measure(
                    "all shards, with counts over all of them", ShardLoad.uniform(shards), shards, connections, true);
            Report page = new Report("Many shards of one server")
                    .paragraph("""
                    A router over %s shards of %d tables with three indexes each, on one server by %d connections, compared with the
                    same router over one of them. A transaction of `write` selects a row by its key from a random table of a random
                    shard. Each line is measured for %d s, after %d s and twelve uses of each table, in which connections learn their shards.""".formatted(Figures.number(shards), ShardServer.TABLES, connections, seconds, warmUp));
            page.section("Goals")
                    .targets(List.of(
                            Target.atLeast(
                                    "transactions a second, all shards beside one",
                                    0.65,
                                    "",
                                    ratio(many.perSecond(), one.perSecond())),
                            Target.atLeast(
                                    "the same by processor time", 0.6, "", ratio(one.processor(), many.processor())),
                            Target.atMost(
                                    "p99 with %d threads, all shards beside one".formatted(manyThreads),
                                    1.5,
                                    "",
                                    ratio(manyBusy.p99(), oneBusy.p99())),
                            Target.atMost(
                                    "transactions that ask whether their shard is open, all shards",
                                    20,
                                    "%",
                                    Interval.of(List.of(100 * many.asked()))),
                            Target.atMost(
                                    "private memory of the largest backend, counts included",
                                    80,
                                    "MB",
                                    Interval.of(List.of(counts.largest())))));
            page.section("Measured")
                    .table(
                            List.of(
                                    "Shards",
                                    "Threads",
                                    "Transactions/s",
                                    "p99, ms",
                                    "Processor time of the client, µs",
                                    "of the backends, µs",
                                    "Asked, %",
                                    "Largest backend, MB"),
                            all.rows);
            page.section("How it was made").made(sizing, Machine.describe(server.observer()) + ".");
            page.write(Report.directory(), "shards");
        }
    }

    private static Interval ratio(double value, double base) {
        return Interval.of(List.of(value / base));
    }

    private ShardLoad.Figures measure(String what, IntSupplier shards, int shardsUsed, int threads, boolean counts)
            throws Exception {
        ShardLoad.Figures figures = load.run(shards, shardsUsed, threads, warmUp, seconds, counts);
        List<String> row = List.of(
                what,
                String.valueOf(threads),
                Figures.number(figures.perSecond()),
                Figures.number(figures.p99()),
                Figures.number(figures.client()),
                Figures.number(figures.backends()),
                Figures.number(100 * figures.asked()),
                Figures.number(figures.largest()));
        System.out.println(String.join("; ", row));
        rows.add(row);
        return figures;
    }
}
