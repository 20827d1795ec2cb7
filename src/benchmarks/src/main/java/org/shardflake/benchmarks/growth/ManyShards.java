/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.growth;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.IntSupplier;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.MoveListener;
import org.shardflake.move.Mover;

/** A router over many shards of one server, compared with the same router over one of them. */
public final class ManyShards {

    private static final int TABLES = 10;

    private final BenchmarkInstallation installation;
    private final Sizes sizes;
    private final ShardLoad load;
    private final ShardLoad withoutHomes;
    private final List<List<String>> rows = new ArrayList<>();
    private final List<List<String>> moving = new ArrayList<>();
    private final List<Target> targets = new ArrayList<>();

    /** The amounts to measure, from system properties {@code many.*}. */
    private record Sizes(int shards, int threads, int connections, int warmUp, int seconds, int rounds, int moves) {}

    private ManyShards(BenchmarkInstallation installation, Connection observer, Sizes sizes) {
        this.installation = installation;
        this.sizes = sizes;
        this.load = new ShardLoad(
                () -> installation.router(sizes.connections()), observer, TABLES, sizes.warmUp(), sizes.seconds());
        this.withoutHomes = new ShardLoad(
                () -> installation.routerWithoutHomes(sizes.connections()),
                observer,
                TABLES,
                sizes.warmUp(),
                sizes.seconds());
    }

    /** Measures, and writes the page {@code shards.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "ManyShards", "many.");
        Sizes sizes = new Sizes(
                sizing.number("shards", 1000),
                sizing.number("threads", 64),
                sizing.number("pool", 8),
                sizing.number("warmup", 15),
                sizing.number("seconds", 10),
                sizing.number("rounds", 3),
                sizing.number("moves", 20));
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(2);
                BenchmarkInstallation installation = BenchmarkInstallation.onFirst(cluster, "many", 2, sizes.shards());
                Connection observer = installation.connect("db1")) {
            installation.deploy(Growth.changelog(TABLES));
            Sql.execute(observer, "VACUUM ANALYZE");
            installation.checkpoint();
            ManyShards all = new ManyShards(installation, observer, sizes);
            all.uniform();
            all.zipf();
            all.moves();
            all.targets.forEach(System.out::println);
            all.page()
                    .section("How it was made")
                    .made(sizing, Machine.describe(observer) + ". Servers and application share it.")
                    .write(Report.directory(), "shards");
        }
    }

    private void uniform() throws Exception {
        List<Double> rates = new ArrayList<>();
        List<Double> processor = new ArrayList<>();
        List<Double> asked = new ArrayList<>();
        inTurns(sizes.connections(), (one, many) -> {
            rates.add(many.perSecond() / one.perSecond());
            processor.add(one.processor() / many.processor());
            asked.add(100 * many.asked());
        });
        List<Double> p99 = new ArrayList<>();
        inTurns(sizes.threads(), (one, many) -> p99.add(many.p99() / one.p99()));
        ShardLoad.Figures counts = measure(
                "all shards, with counts over all of them",
                load,
                ShardLoad.uniform(sizes.shards()),
                sizes.connections(),
                true);
        targets.add(Target.atLeast("transactions a second, all shards beside one", 0.65, "", Interval.of(rates)));
        targets.add(Target.atLeast("the same by processor time", 0.6, "", Interval.of(processor)));
        targets.add(Target.atMost(
                "p99 with %d threads, all shards beside one".formatted(sizes.threads()), 1.5, "", Interval.of(p99)));
        targets.add(Target.atMost(
                "transactions that ask whether their shard is open, all shards", 20, "%", Interval.of(asked)));
        targets.add(Target.atMost(
                "private memory of the largest backend, counts included",
                80,
                "MB",
                Interval.of(List.of(counts.largest()))));
    }

    /** Measures one shard and all of them in turn, so that both meet the same machine. */
    private void inTurns(int threads, BiConsumer<ShardLoad.Figures, ShardLoad.Figures> taken) throws Exception {
        for (int round = 0; round < sizes.rounds(); round++) {
            ShardLoad.Figures one = row("one shard", threads, load.run(ShardLoad.uniform(1), 1, threads, false));
            taken.accept(one, measure("all shards", load, ShardLoad.uniform(sizes.shards()), threads, false));
        }
    }

    private void zipf() throws Exception {
        IntSupplier shards = ShardLoad.zipf(sizes.shards());
        int threads = 2 * sizes.connections();
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < sizes.rounds(); round++) {
            ShardLoad.Figures homes = measure("all shards by Zipf's law", load, shards, threads, false);
            ShardLoad.Figures none =
                    measure("the same by a pool that does not know shards", withoutHomes, shards, threads, false);
            ratios.add(homes.p99() / none.p99());
            if (moving.isEmpty()) {
                moving.add(movingRow("no move", homes));
            }
        }
        targets.add(Target.atMost(
                "p99 with %d threads by Zipf's law, beside a pool that does not know shards".formatted(threads),
                1,
                "",
                Interval.of(ratios)));
    }

    private void moves() throws Exception {
        ShardLoad.Figures figures =
                load.runDuring(this::move, ShardLoad.zipf(sizes.shards()), sizes.shards(), 2 * sizes.connections());
        moving.add(movingRow("%d moves".formatted(sizes.moves()), figures));
        targets.add(Target.none("errors during %d moves".formatted(sizes.moves()), figures.failed()));
    }

    /** Moves the likeliest shards to the second server, one after the other, and back. */
    private void move() {
        Mover mover = installation.mover(MoveListener.NONE);
        int moved = (sizes.moves() + 1) / 2;
        for (int i = 0; i < sizes.moves(); i++) {
            ShardSet shard = ShardSet.of(ShardLoad.likely(i % moved, sizes.shards()));
            mover.carryOut(
                    i < moved
                            ? mover.beginOrResume("db1", "db2", shard, "")
                            : mover.beginOrResume("db2", "db1", shard, ""),
                    false);
        }
    }

    private ShardLoad.Figures measure(String what, ShardLoad measured, IntSupplier shards, int threads, boolean counts)
            throws Exception {
        return row(what, threads, measured.run(shards, sizes.shards(), threads, counts));
    }

    private ShardLoad.Figures row(String what, int threads, ShardLoad.Figures figures) {
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

    private static List<String> movingRow(String what, ShardLoad.Figures figures) {
        return List.of(
                what,
                Figures.number(figures.perSecond()),
                Figures.number(figures.p99()),
                Figures.number(figures.longest()),
                String.valueOf(figures.failed()));
    }

    private Report page() {
        return new Report("Many shards of one server")
                .paragraph("""
                A router over %s shards of %d tables with three indexes each, on one server by %d connections, compared with the
                same router over one of them. A transaction of `write` selects a row by an index from a random table of a random
                shard. Each line is measured for %d s, after %d s and twelve uses of each table, in which connections learn their shards.
                A pool that does not know shards is that of the same router behind a pooler, which is left out here: it lends any
                connection to any shard. What is compared took turns, %d times; the median of the ratios counts.""".formatted(
                                Figures.number(sizes.shards()),
                                TABLES,
                                sizes.connections(),
                                sizes.seconds(),
                                sizes.warmUp(),
                                sizes.rounds()))
                .section("Goals")
                .targets(targets)
                .section("Measured")
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
                        rows)
                .paragraph(
                        "A backend's memory is its own (`Pss_Anon` of Linux's `smaps_rollup`), without shared buffers.")
                .section("Moves")
                .paragraph("""
                All shards by Zipf's law with %d threads, without moves and during %d of them: the likeliest shards went to a second
                server, one after the other, and came back. The mover ran in the application's process.""".formatted(2 * sizes.connections(), sizes.moves()))
                .table(List.of("During", "Transactions/s", "p99, ms", "Longest, ms", "Errors"), moving);
    }
}
