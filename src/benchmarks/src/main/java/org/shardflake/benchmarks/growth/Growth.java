/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.growth;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import org.shardflake.ShardKey;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.DumpPrograms;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Markdown;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;

/** Measures an installation with more and more shards, then tables, then threads. */
public final class Growth {

    private static final int TIMES = 3;

    private final PostgresCluster cluster;
    private final Sizes sizes;
    private int installations;

    /**
     * The amounts to measure.
     *
     * @param shards of the first curve
     * @param tables of the second
     * @param threads of the third
     * @param base how many tables the first curve has, and how many threads the first two
     * @param middle how many shards the second and third have
     */
    private record Sizes(
            List<Integer> shards,
            List<Integer> tables,
            List<Integer> threads,
            Base base,
            int middle,
            int warmUp,
            int seconds) {}

    private record Base(int tables, int threads, int connections) {}

    private Growth(PostgresCluster cluster, Sizes sizes) {
        this.cluster = cluster;
        this.sizes = sizes;
    }

    /** Measures, and writes the page {@code growth.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "Growth", "growth.");
        Sizes sizes = new Sizes(
                sizing.numbers("shards", List.of(10, 100, 1000, 2000, 8192)),
                sizing.numbers("tables", List.of(1, 10, 50)),
                sizing.numbers("threads", List.of(1, 2, 4, 8, 16, 64)),
                new Base(4, 8, 8),
                sizing.number("middle", 200),
                sizing.number("warmup", 10),
                sizing.number("seconds", 5));
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(2);
                Connection connection = cluster.server(0).connect()) {
            Growth growth = new Growth(cluster, sizes);
            Base base = sizes.base();
            List<Costs> byShards =
                    growth.measure(sizes.shards(), shards -> new Size(shards, base.tables(), List.of(base.threads())));
            List<Costs> byTables =
                    growth.measure(sizes.tables(), tables -> new Size(sizes.middle(), tables, List.of(base.threads())));
            List<Costs> byThreads =
                    growth.measure(List.of(sizes.middle()), shards -> new Size(shards, base.tables(), sizes.threads()));
            growth.page(byShards, byTables, byThreads)
                    .section("Where the curves bend")
                    .list(BENDS)
                    .section("How it was made")
                    .made(sizing, Machine.describe(connection) + ". Servers, application and commands share it.")
                    .write(Report.directory(), "growth");
        }
    }

    /** One installation that is measured. */
    private record Size(int shards, int tables, List<Integer> threads) {}

    /**
     * What an installation costs.
     *
     * @param deployed seconds of the first deployment
     * @param again seconds of a deployment with nothing to do
     * @param altered seconds of a deployment of one column
     * @param start milliseconds until a router has its map and has done a transaction
     * @param commands seconds of each of {@link #COMMANDS}
     * @param scrape milliseconds of a scrape of the exporter
     * @param moved seconds of a move of one shard
     * @param vacuumed seconds of a VACUUM of the database, which autovacuum does in parts
     * @param dumped seconds of a pg_dump of all definitions, or why it cannot be had
     * @param catalog MB of PostgreSQL's own tables
     * @param loads by number of threads
     */
    private record Costs(
            Size size,
            double deployed,
            double again,
            double altered,
            Interval start,
            List<Double> commands,
            Interval scrape,
            double moved,
            double vacuumed,
            String dumped,
            double catalog,
            List<ShardLoad.Figures> loads) {}

    /** Why figures grow as they do: what PostgreSQL and the command do for each of them. */
    private static final List<String> BENDS = List.of(
            "Transactions fall and memory grows with shards times tables: each backend comes to know twice its part of them, since a shard has two homes among the connections. Beyond 4,000 statements of a connection, which is the router's cache, the oldest are prepared and planned again: with 8 connections that is 16,000 tables of one statement each.",
            "A first deployment, VACUUM and `doctor` do something for each table, so they grow in proportion from where that takes longer than the second or so in which Java starts and connects. A deployment with nothing to do asks each server once. `map show` and `schema status` read the catalog's few tables.",
            "A move of one shard depends on the shard's own tables, and hardly on the other shards.",
            "`pg_dump` holds a lock on each table in one transaction. It fails when these are more than the server's table of locks has room for (`max_locks_per_transaction` times connections, 6,400 by default, and some to spare).",
            "Two cores are in use from 4 threads on. More threads than connections wait for one, so p99 grows with them.");

    private static final List<List<String>> COMMANDS =
            List.of(List.of("doctor"), List.of("map", "show"), List.of("schema", "status"));

    private List<Costs> measure(List<Integer> numbers, IntFunction<Size> size) throws Exception {
        List<Costs> costs = new ArrayList<>();
        for (int number : numbers) {
            costs.add(measure(size.apply(number)));
            System.out.println(costs.get(costs.size() - 1));
        }
        return costs;
    }

    private Costs measure(Size size) throws Exception {
        Base base = sizes.base();
        try (BenchmarkInstallation installation =
                        BenchmarkInstallation.onFirst(cluster, "growth" + installations++, 2, size.shards());
                Connection observer = installation.connect("db1")) {
            String changelog = changelog(size.tables());
            double deployed = installation.deploy(changelog);
            double again = installation.deploy(changelog);
            double altered = installation.deploy(changelog + change("column", "ALTER TABLE t0 ADD COLUMN note text"));
            double vacuumed = seconds(() -> Sql.execute(observer, "VACUUM ANALYZE"));
            installation.checkpoint();
            ShardLoad load = new ShardLoad(
                    () -> installation.router(base.connections()),
                    observer,
                    size.tables(),
                    sizes.warmUp(),
                    sizes.seconds());
            List<ShardLoad.Figures> loads = new ArrayList<>();
            for (int threads : size.threads()) {
                loads.add(load.run(ShardLoad.uniform(size.shards()), size.shards(), threads, false));
            }
            List<Double> commands = new ArrayList<>();
            for (List<String> command : COMMANDS) {
                commands.add(installation
                        .command()
                        .run(command.toArray(String[]::new))
                        .seconds());
            }
            return new Costs(
                    size,
                    deployed,
                    again,
                    altered,
                    starts(installation),
                    commands,
                    scrapes(installation),
                    installation
                            .command()
                            .run("move", "run", "--shards", "0", "--to", "db2")
                            .seconds(),
                    vacuumed,
                    dump(installation),
                    Sql.number(
                                    observer,
                                    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'")
                            / 1024.0
                            / 1024,
                    loads);
        }
    }

    /** Seconds of a pg_dump, or why there are none: it holds a lock on each table, so it may lack room for them. */
    private static String dump(BenchmarkInstallation installation) throws Exception {
        String obstacle = DumpPrograms.obstacle(installation.server("db1"));
        if (!obstacle.isEmpty()) {
            return Markdown.escape(obstacle);
        }
        ProcessBuilder dump = new ProcessBuilder(
                        "pg_dump", "--schema-only", "--file", "/dev/null", installation.uri("db1"))
                .redirectErrorStream(true);
        long start = System.nanoTime();
        Process process = dump.start();
        try (BufferedReader output = process.inputReader()) {
            String said = output.lines().collect(Collectors.joining(" "));
            return process.waitFor() == 0
                    ? Figures.number((System.nanoTime() - start) / 1e9)
                    : Markdown.escape(said.replaceAll(".*?error: ", "").replaceAll("(detail|HINT|pg_dump): .*", ""));
        }
    }

    /** A changelog of tables {@code t0} and up, each with three indexes and some rows. */
    static String changelog(int tables) {
        StringBuilder changelog = new StringBuilder("databaseChangeLog:\n");
        for (int table = 0; table < tables; table++) {
            changelog.append(change(
                    "t" + table,
                    "CREATE TABLE t%1$d (id bigint PRIMARY KEY, uid bigint NOT NULL, title text); CREATE INDEX ON t%1$d (uid); CREATE INDEX ON t%1$d (title)"
                            .formatted(table)));
        }
        for (int table = 0; table < tables; table++) {
            changelog.append(change(
                    "rows" + table,
                    "INSERT INTO t%d (uid, title) SELECT n, 'a title ' || n FROM generate_series(1, %d) n"
                            .formatted(table, ShardLoad.ROWS)));
        }
        return changelog.toString();
    }

    private static String change(String id, String sql) {
        return "- changeSet: {id: %s, author: app, changes: [{sql: {sql: \"%s\"}}]}\n".formatted(id, sql);
    }

    private Interval starts(BenchmarkInstallation installation) throws Exception {
        List<Double> millis = new ArrayList<>();
        for (int start = 0; start < TIMES; start++) {
            millis.add(1000
                    * seconds(() -> {
                        try (ShardRouter router =
                                installation.router(sizes.base().connections())) {
                            router.run(ShardKey.shard(0), tx -> Sql.execute(tx.connection(), "SELECT 1"));
                        }
                    }));
        }
        return Interval.of(millis);
    }

    /** Scrapes of an exporter, in milliseconds. The first one, which connects to the servers, is left out. */
    private static Interval scrapes(BenchmarkInstallation installation) throws Exception {
        Process exporter = installation.command().start("exporter", "--listen", "127.0.0.1:0");
        try (BufferedReader output = exporter.inputReader()) {
            URI metrics = URI.create(String.valueOf(output.readLine()).replaceFirst("metrics are at ", ""));
            HttpClient client = HttpClient.newHttpClient();
            List<Double> millis = new ArrayList<>();
            for (int scrape = 0; scrape <= TIMES; scrape++) {
                double seconds = seconds(() -> scrape(client, metrics));
                if (scrape > 0) {
                    millis.add(1000 * seconds);
                }
            }
            return Interval.of(millis);
        } finally {
            exporter.destroy();
        }
    }

    private static void scrape(HttpClient client, URI metrics) throws IOException, InterruptedException {
        HttpResponse<String> response =
                client.send(HttpRequest.newBuilder(metrics).build(), HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IllegalStateException(response.body());
        }
    }

    /** Something whose time is taken. */
    @FunctionalInterface
    private interface Timed {
        void run() throws Exception;
    }

    private static double seconds(Timed timed) throws Exception {
        long start = System.nanoTime();
        timed.run();
        return (System.nanoTime() - start) / 1e9;
    }

    private Report page(List<Costs> byShards, List<Costs> byTables, List<Costs> byThreads) {
        Base base = sizes.base();
        Report page = new Report("What more shards, tables and threads cost")
                .paragraph("""
                One server has all shards; each table has three indexes and %d rows. A transaction selects a row of a random table of a
                random shard, through a router with %d connections, for %d s after %d s and twelve uses of each table. What is measured
                once has no spread: a difference below a third says nothing.""".formatted(ShardLoad.ROWS, base.connections(), sizes.seconds(), sizes.warmUp()));
        curve(page, "shards", "with %d tables, %d threads".formatted(base.tables(), base.threads()), byShards);
        curve(page, "tables", "of %d shards, %d threads".formatted(sizes.middle(), base.threads()), byTables);
        Costs threads = byThreads.get(0);
        List<List<String>> rows = new ArrayList<>();
        for (int i = 0; i < threads.loads().size(); i++) {
            rows.add(row(
                    String.valueOf(threads.size().threads().get(i)),
                    threads.loads().get(i)));
        }
        return page.section("More threads, %d shards with %d tables".formatted(sizes.middle(), base.tables()))
                .table(List.of("Threads", "Transactions/s", "p99, ms", "Largest backend, MB"), rows);
    }

    private static List<String> row(String what, ShardLoad.Figures figures) {
        return List.of(
                what,
                Figures.number(figures.perSecond()),
                Figures.number(figures.p99()),
                Figures.number(figures.largest()));
    }

    private static void curve(Report page, String of, String with, List<Costs> all) {
        List<List<String>> application = new ArrayList<>();
        List<List<String>> operation = new ArrayList<>();
        for (Costs costs : all) {
            String what = Figures.number(
                    of.equals("shards") ? costs.size().shards() : costs.size().tables());
            List<String> row = new ArrayList<>(row(what, costs.loads().get(0)));
            row.add(costs.start().toString());
            application.add(row);
            List<String> seconds = new ArrayList<>(List.of(what));
            DoubleStream.concat(
                            DoubleStream.of(
                                    costs.deployed(), costs.again(), costs.altered(), costs.moved(), costs.vacuumed()),
                            costs.commands().stream().mapToDouble(Double::doubleValue))
                    .mapToObj(Figures::number)
                    .forEach(seconds::add);
            seconds.add(costs.dumped());
            seconds.add(costs.scrape().toString());
            seconds.add(Figures.number(costs.catalog()));
            operation.add(seconds);
        }
        page.section("More %s, %s".formatted(of, with))
                .table(
                        List.of(of, "Transactions/s", "p99, ms", "Largest backend, MB", "Start of a router, ms"),
                        application)
                .paragraph(
                        "Seconds of commands, each with some 0.5 s in which Java starts, and of PostgreSQL's `VACUUM ANALYZE`:")
                .table(
                        List.of(
                                of,
                                "first deployment",
                                "nothing to deploy",
                                "a column for one table",
                                "a move of one shard",
                                "VACUUM",
                                "`doctor`",
                                "`map show`",
                                "`schema status`",
                                "`pg_dump --schema-only`",
                                "a scrape of the exporter, ms",
                                "`pg_catalog`, MB"),
                        operation);
    }
}
