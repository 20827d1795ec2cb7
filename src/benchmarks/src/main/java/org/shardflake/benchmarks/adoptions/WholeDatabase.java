/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.adoptions;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.shardflake.ShardSet;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.SliceReport;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.DumpPrograms;
import org.shardflake.benchmarks.installation.Writers;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;

/**
 * A database of many tables that is adopted: how long the copy takes compared with a dump, what leaving and coming back costs its writers, and what
 * following them does.
 */
public final class WholeDatabase {

    private static final String DATABASE = "adopted";
    private static final String RESTORED = "restored";
    private static final int TABLES_OF_A_FAMILY = 4;
    private static final int USERS = 10_000;
    private static final int ROW_BYTES = 900;
    private static final int REST_MILLIS = 5;
    private static final int WARM_UP_SECONDS = 3;
    private static final int COST_SESSIONS = 8;
    private static final int COST_TURN_MILLIS = 2000;

    private final PostgresCluster cluster;
    private final SourceDatabase old;
    private final Sizes sizes;
    private final int rows;

    private record Sizes(int megabytes, int families, int shards, int leaving, int writers, int rounds, int minutes) {

        int tables() {
            return families * TABLES_OF_A_FAMILY;
        }
    }

    private WholeDatabase(PostgresCluster cluster, SourceDatabase old, Sizes sizes) {
        this.cluster = cluster;
        this.old = old;
        this.sizes = sizes;
        this.rows = Math.max(USERS, (int) (sizes.megabytes * 1024L * 1024 / ROW_BYTES / sizes.tables()));
    }

    /** Measures, and writes the page {@code adoptions.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "WholeDatabase", "whole.");
        Sizes sizes = new Sizes(
                sizing.number("megabytes", 10_240),
                sizing.number("tables", 100, TABLES_OF_A_FAMILY) / TABLES_OF_A_FAMILY,
                sizing.number("shards", 64),
                sizing.number("leaving", 32),
                sizing.number("writers", 16),
                sizing.number("rounds", 11),
                sizing.number("minutes", 12));
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(3);
                BenchmarkInstallation installation =
                        BenchmarkInstallation.spread(cluster, DATABASE, 2, sizes.shards())) {
            SourceDatabase old =
                    new SourceDatabase(installation, cluster.server(2), DATABASE, "shop", tables(sizes.families()));
            new WholeDatabase(cluster, old, sizes).measure(sizing);
        }
    }

    private static List<AdoptTable> tables(int families) {
        List<AdoptTable> tables = new ArrayList<>();
        for (int family = 0; family < families; family++) {
            String parent = "shop.purchase_" + family;
            String part = "shop.part_" + family;
            tables.add(new AdoptTable(parent, "purchase_" + family, "uid", List.of(), null, List.of()));
            tables.add(new AdoptTable(part, "part_" + family, "uid", List.of("purchase_id"), parent, List.of("id")));
            tables.add(new AdoptTable(
                    "shop.note_" + family, "note_" + family, "uid", List.of("part_id"), part, List.of("id")));
            tables.add(new AdoptTable("shop.event_" + family, "event_" + family, "uid", List.of(), null, List.of()));
        }
        return tables;
    }

    private void measure(Sizing sizing) throws Exception {
        timed("%s tables of %,d rows are made".formatted(sizes.tables(), rows), () -> {
            old.installation().deploy(changelog());
            old.create();
            fill();
        });
        String obstacle = DumpPrograms.obstacle(old.server());
        double dumped = obstacle.isEmpty() ? timed("they are dumped and restored", this::dumpAndRestore) : 0;
        old.installation().checkpoint();
        double copied = timed("they are copied", () -> {
            try (DatabaseAdopter adopter = old.adopter(new Progress())) {
                adopter.run();
            }
        });
        double compared = timed("all rows are compared", () -> {
            try (DatabaseAdopter adopter = old.adopter()) {
                adopter.verify();
            }
        });
        timed("the triggers of the fence are created", () -> cutOver(ShardSet.of()));
        Report page = new Report("Adopting a whole database")
                .paragraph("""
                A database of %d tables, %s: a quarter has the key, a quarter finds it in its parent, a quarter in its parent's parent,
                and a quarter has it and no children. Its rows go into %d shards on two servers.""".formatted(sizes.tables(), size(), sizes.shards()));
        List<Target> targets = new ArrayList<>();
        pauses(page, targets);
        timed("what following costs writers is measured", () -> costs(page, targets));
        page.section("Goals").targets(targets);
        copying(page, obstacle, copied, dumped, compared);
        try (Connection connection = old.connect()) {
            page.section("How it was made")
                    .made(sizing, Machine.describe(connection) + ". All servers, writers and the copy share it.");
        }
        page.write(Report.directory(), "adoptions");
    }

    private void copying(Report page, String obstacle, double copied, double dumped, double compared) {
        page.section("Copying");
        if (obstacle.isEmpty()) {
            page.paragraph(
                    "`adopt run` works on four tables at a time, and into %d schemas on two servers. The dump is one pipe into one database."
                            .formatted(sizes.shards()));
            page.table(
                    List.of("", "Seconds"),
                    List.of(
                            List.of("`adopt run`, until its rows are copied", Figures.number(copied)),
                            List.of("`pg_dump -Fc -Z0`, piped into `pg_restore`", Figures.number(dumped)),
                            List.of("`adopt verify`, of all rows", Figures.number(compared))));
        } else {
            page.paragraph(
                    "The rows were copied in %s s, and compared in %s s. No dump was made to compare it with: %s."
                            .formatted(Figures.number(copied), Figures.number(compared), obstacle));
        }
    }

    private static void say(String what) {
        System.out.printf("%tT %s%n", System.currentTimeMillis(), what);
    }

    /** A part of the measurement. */
    @FunctionalInterface
    private interface Part {
        void run() throws Exception;
    }

    /**
     * Runs a part, says how long it took, and returns the seconds.
     *
     * @throws IllegalStateException if it takes longer than any part should; it ends when the servers do
     */
    private double timed(String what, Part part) throws Exception {
        say(what);
        long start = System.nanoTime();
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        Thread thread = new Thread(
                () -> {
                    try {
                        part.run();
                        done.complete(true);
                    } catch (Throwable e) {
                        done.completeExceptionally(e);
                    }
                },
                what);
        thread.setDaemon(true);
        thread.start();
        try {
            done.get(sizes.minutes(), TimeUnit.MINUTES);
        } catch (TimeoutException e) {
            throw new IllegalStateException("not after %s minutes: %s".formatted(sizes.minutes(), what), e);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        say("  in %s s".formatted(Figures.number(seconds)));
        return seconds;
    }

    /** Says what has been done, so that a run that is stopped leaves figures. */
    private static final class Progress implements AdoptListener {

        private static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(20);

        private long last = System.nanoTime();

        @Override
        public synchronized void copied(long rows, long estimate) {
            if (System.nanoTime() - last > EVERY_NANOS) {
                last = System.nanoTime();
                WholeDatabase.say("  %,d of %,d rows".formatted(rows, estimate));
            }
        }

        @Override
        public void left(SliceReport report) {
            say(report, "has left");
        }

        @Override
        public void cameBack(SliceReport report) {
            say(report, "has come back");
        }

        private static void say(SliceReport report, String what) {
            WholeDatabase.say("  shard %s %s, its pause was %s ms, at attempt %s"
                    .formatted(report.shard(), what, report.pause().toMillis(), report.attempts()));
        }
    }

    private List<SliceReport> cutOver(ShardSet shards) {
        try (DatabaseAdopter adopter = old.adopter(new Progress())) {
            return adopter.cutOver(shards).now();
        }
    }

    private List<SliceReport> reverse(ShardSet shards) {
        try (DatabaseAdopter adopter = old.adopter(new Progress())) {
            return adopter.reverse(shards).now();
        }
    }

    private String changelog() {
        StringBuilder changelog = new StringBuilder("databaseChangeLog:\n");
        for (AdoptTable table : old.tables()) {
            String reference =
                    table.columns().isEmpty() ? "" : ", " + table.columns().get(0) + " bigint NOT NULL";
            changelog.append("""
                    - changeSet: {id: %1$s, author: app, changes: [{sql: {sql: "CREATE TABLE %1$s (id bigint PRIMARY KEY%2$s, title text, uid bigint NOT NULL)"}}, {sql: {sql: "COMMENT ON COLUMN %1$s.uid IS 'shard key'"}}]}
                    """.formatted(table.into(), reference));
        }
        return changelog.toString();
    }

    private void fill() throws Exception {
        int half = (sizes.families() + 1) / 2;
        Sessions.run(2, (number, together) -> {
            try (Connection connection = old.connect()) {
                for (int family = number * half; family < Math.min(sizes.families(), (number + 1) * half); family++) {
                    fill(connection, family);
                }
            }
            return number;
        });
    }

    private void fill(Connection connection, int family) throws SQLException {
        for (String sql : """
                CREATE TABLE shop.purchase_%1$s (id bigint PRIMARY KEY, title text, uid bigint NOT NULL);
                INSERT INTO shop.purchase_%1$s SELECT n, repeat(md5(n::text), 25), n %% %3$s FROM generate_series(0, %2$s - 1) n;
                CREATE TABLE shop.part_%1$s (id bigint PRIMARY KEY, purchase_id bigint NOT NULL REFERENCES shop.purchase_%1$s, title text);
                INSERT INTO shop.part_%1$s SELECT n, n, repeat(md5(n::text), 25) FROM generate_series(0, %2$s - 1) n;
                CREATE TABLE shop.note_%1$s (id bigint PRIMARY KEY, part_id bigint NOT NULL REFERENCES shop.part_%1$s, title text);
                INSERT INTO shop.note_%1$s SELECT n, n, repeat(md5(n::text), 25) FROM generate_series(0, %2$s - 1) n;
                CREATE TABLE shop.event_%1$s (id bigint PRIMARY KEY, title text, uid bigint NOT NULL);
                INSERT INTO shop.event_%1$s SELECT n, repeat(md5(n::text), 25), n %% %3$s FROM generate_series(0, %2$s - 1) n;
                VACUUM ANALYZE shop.purchase_%1$s, shop.part_%1$s, shop.note_%1$s, shop.event_%1$s
                """.formatted(family, rows, USERS).split(";\n", -1)) {
            Sql.execute(connection, sql);
        }
    }

    private void dumpAndRestore() throws SQLException, IOException, InterruptedException {
        PostgresServer target = old.installation().server("db2");
        try (Connection connection = target.connect("postgres")) {
            Sql.execute(connection, "CREATE DATABASE " + RESTORED);
            List<Process> running = ProcessBuilder.startPipeline(List.of(
                    new ProcessBuilder("pg_dump", "-Fc", "-Z0", old.server().uri(DATABASE))
                            .redirectError(ProcessBuilder.Redirect.INHERIT),
                    new ProcessBuilder("pg_restore", "-d", target.uri(RESTORED))
                            .redirectError(ProcessBuilder.Redirect.INHERIT)));
            for (Process process : running) {
                if (process.waitFor() != 0) {
                    throw new IllegalStateException("a dump or its restoration ended with " + process.exitValue());
                }
            }
            Sql.execute(connection, "DROP DATABASE " + RESTORED);
        }
    }

    private String size() throws SQLException {
        try (Connection connection = old.connect()) {
            return Sql.text(connection, "SELECT pg_size_pretty(pg_database_size(current_database()))");
        }
    }

    private void pauses(Report page, List<Target> targets) throws Exception {
        Map<String, List<Double>> pauses = new TreeMap<>();
        ShardSet leaving = ShardSet.range(0, sizes.leaving() - 1);
        try (ShardRouter router = old.router(sizes.writers())) {
            RoutedChanges changes = new RoutedChanges(router, sizes.shards(), this::change);
            try (Writers writers = new Writers(sizes.shards(), sizes.writers(), REST_MILLIS, changes)) {
                TimeUnit.SECONDS.sleep(WARM_UP_SECONDS); // Connections are opened, and code is compiled.
                changes.forget();
                double left = timed(
                        "%s shards leave".formatted(leaving.size()),
                        () -> keep("cutover", pauses, changes, cutOver(leaving)));
                double returned = timed("they come back", () -> keep("reverse", pauses, changes, reverse(leaving)));
                page.section("Leaving and coming back, with %d writers".formatted(sizes.writers()))
                        .paragraph("""
                        %d shards left in %s s, and came back in %s s, by one command each. Both read each old table once for all shards of the command, whatever
                        indexes it has, and then only rows that have changed.""".formatted(leaving.size(), Figures.number(left), Figures.number(returned)));
            }
            List<List<String>> table = new ArrayList<>();
            pauses.forEach((what, millis) -> {
                Distribution distribution = Distribution.of(millis);
                table.add(List.of(
                        what,
                        String.valueOf(millis.size()),
                        Figures.number(distribution.percentile(50)),
                        Figures.number(distribution.percentile(99)),
                        Figures.number(distribution.max())));
                targets.add(
                        Target.atMost(what + ", p99", 250, "ms", Interval.of(List.of(distribution.percentile(99)))));
            });
            targets.add(Target.none("transactions that failed", changes.failed()));
            page.table(List.of("", "Shards", "p50, ms", "p99, ms", "Longest, ms"), table);
            if (changes.failed() > 0) {
                System.out.println(changes.firstFailure());
            }
        }
    }

    private static void keep(
            String what, Map<String, List<Double>> pauses, RoutedChanges changes, List<SliceReport> reports) {
        List<Double> said = pauses.computeIfAbsent(what + ", as the command says", key -> new ArrayList<>());
        List<Double> seen = pauses.computeIfAbsent(what + ", longest write of the shard", key -> new ArrayList<>());
        for (SliceReport report : reports) {
            said.add(report.pause().toNanos() / 1e6);
            seen.add(changes.longestMillis(report.shard()));
        }
        changes.forget();
    }

    private boolean change(ShardTransaction tx, int shard, Random random) throws SQLException {
        int family = random.nextInt(sizes.families());
        long row = (long) random.nextInt(USERS / sizes.shards()) * sizes.shards() + shard;
        for (String table : List.of("purchase_", "note_")) {
            if (Sql.update(
                            tx.connection(),
                            "UPDATE %s.%s%s SET title = md5(title) WHERE id = ?".formatted(tx.schema(), table, family),
                            row)
                    != 1) {
                return false;
            }
        }
        return true;
    }

    private void costs(Report page, List<Target> targets) throws Exception {
        try (WriterCost cost = WriterCost.prepare(cluster, old.server(), COST_SESSIONS, COST_TURN_MILLIS)) {
            Rounds rounds = cost.measure(sizes.rounds());
            targets.add(Target.atLeast(
                    "transactions of writers while followed, compared with an old database that is not adopted",
                    0.95,
                    "",
                    rounds.ratio(WriterCost.FOLLOWED, WriterCost.ALONE)));
            page.section("What following costs writers")
                    .paragraph("""
                    Eight sessions that write to equal databases of the old server in turn: a transaction updates an order, inserts a
                    line of it and updates another. A slot is there, and `pgoutput` is read from it, only in the turns of the databases that it is
                    said of; an adoption by logical decoding would need at least that. Nothing takes lines out of the journal here.""")
                    .table(List.of("", "Transactions/s", "Compared with the first"), WriterCost.table(rounds));
        }
    }
}
