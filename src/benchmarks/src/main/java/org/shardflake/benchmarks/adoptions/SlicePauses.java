/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.adoptions;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.shardflake.ShardSet;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.SliceReport;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.Writers;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;

/** Write pauses of shards that leave an old database and come back to it, under load: as the writers see them, and as the engine says. */
public final class SlicePauses {

    private static final String DATABASE = "adopted";
    private static final int WARM_UP_SECONDS = 5;

    private static final String CHANGELOG = """
            databaseChangeLog:
              - changeSet:
                  id: shop
                  author: ann
                  changes:
                    - createTable:
                        tableName: orders
                        columns:
                          - column: {name: id, type: bigint, constraints: {primaryKey: true}}
                          - column: {name: uid, type: bigint, constraints: {nullable: false}, remarks: shard key}
                          - column: {name: note, type: integer, constraints: {nullable: false}}
                    - createTable:
                        tableName: item
                        columns:
                          - column: {name: order_id, type: bigint, constraints: {primaryKey: true}}
                          - column: {name: line, type: integer, constraints: {primaryKey: true}}
                          - column: {name: text, type: text}
                          - column: {name: uid, type: bigint, constraints: {nullable: false}, remarks: shard key}
            """;

    private static final String OLD_TABLES = """
            CREATE TABLE shop.orders (id bigint PRIMARY KEY, uid bigint NOT NULL, note integer NOT NULL);
            CREATE TABLE shop.item (order_id bigint REFERENCES shop.orders, line integer, text text, PRIMARY KEY (order_id, line));
            INSERT INTO shop.orders SELECT n * %1$s + shard, shard, 0 FROM generate_series(0, %1$s - 1) shard, generate_series(1, CASE WHEN shard < %2$s THEN %3$s ELSE 10 END) n;
            INSERT INTO shop.item SELECT id, 1, md5(id::text) FROM shop.orders;
            VACUUM ANALYZE shop.orders, shop.item;
            """;

    private static final List<AdoptTable> TABLES = List.of(
            new AdoptTable("shop.orders", "orders", "uid", List.of(), null, List.of()),
            new AdoptTable("shop.item", "item", "uid", List.of("order_id"), "shop.orders", List.of("id")));

    private final BenchmarkInstallation installation;
    private final SourceDatabase old;
    private final ShardSet leaving;
    private final RoutedChanges changes;
    private final Map<String, List<Double>> seen = new LinkedHashMap<>();
    private final Map<String, List<Double>> said = new LinkedHashMap<>();

    private SlicePauses(
            BenchmarkInstallation installation, SourceDatabase old, ShardSet leaving, RoutedChanges changes) {
        this.installation = installation;
        this.old = old;
        this.leaving = leaving;
        this.changes = changes;
    }

    /** Measures and prints. */
    public static void print() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "Adoptions", "adoptions.");
        int shards = sizing.number("shards", 64);
        int leaving = sizing.number("leaving", 32);
        int rounds = sizing.number("rounds", 4);
        int writers = sizing.number("writers", 16);
        int restMillis = sizing.number("rest", 5);
        for (int rows : sizing.numbers("rows", List.of(1000, 10_000))) {
            System.out.printf(
                    "%,d rows in each of two tables of %s shards that leave and come back %s times, of %s; %s writers that rest %s ms%n",
                    rows, leaving, rounds, shards, writers, restMillis);
            measure(shards, leaving, rows, rounds, writers, restMillis);
        }
    }

    private static void measure(int shards, int leaving, int rows, int rounds, int writers, int restMillis)
            throws Exception {
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(3);
                BenchmarkInstallation installation = BenchmarkInstallation.spread(cluster, DATABASE, 2, shards)) {
            installation.deploy(CHANGELOG);
            SourceDatabase old = new SourceDatabase(installation, cluster.server(2), DATABASE, "shop", TABLES);
            old.create();
            try (Connection connection = old.connect();
                    Statement statement = connection.createStatement()) {
                for (String sql : OLD_TABLES.formatted(shards, leaving, rows).split(";\n", -1)) {
                    statement.execute(sql);
                }
            }
            try (ShardRouter router = old.router(writers)) {
                RoutedChanges changes = new RoutedChanges(
                        router,
                        shards,
                        (tx, shard, random) -> change(tx, (long) (1 + random.nextInt(10)) * shards + shard));
                new SlicePauses(installation, old, ShardSet.range(0, leaving - 1), changes)
                        .run(shards, rounds, writers, restMillis);
            }
        }
    }

    private static boolean change(ShardTransaction tx, long order) throws SQLException {
        Sql.update(tx.connection(), "UPDATE %s.orders SET note = note + 1 WHERE id = ?".formatted(tx.schema()), order);
        return Sql.update(
                        tx.connection(),
                        "UPDATE %s.item SET text = md5(text) WHERE order_id = ?".formatted(tx.schema()),
                        order)
                == 1;
    }

    private void run(int shards, int rounds, int writers, int restMillis) throws Exception {
        try (DatabaseAdopter adopter = old.adopter()) {
            adopter.cutOver(ShardSet.of()); // copies the rows and prepares the old database
        }
        installation.checkpoint();
        try (Writers load = new Writers(shards, writers, restMillis, changes)) {
            TimeUnit.SECONDS.sleep(WARM_UP_SECONDS);
            measure(rounds);
        }
        seen.forEach((work, its) -> print("longest write of a shard during " + work, its));
        said.forEach((work, its) -> print("pause that the engine says of a " + work, its));
        System.out.println(Target.none("failed writes", changes.failed()) + " " + changes.firstFailure());
    }

    private void measure(int rounds) throws Exception {
        for (int round = 0; round < rounds; round++) {
            long begun = System.nanoTime();
            during("cutover", () -> {
                try (DatabaseAdopter adopter = old.adopter()) {
                    return adopter.cutOver(leaving).now();
                }
            });
            during("reverse", () -> {
                try (DatabaseAdopter adopter = old.adopter()) {
                    return adopter.reverse(leaving).now();
                }
            });
            long took = System.nanoTime() - begun;
            during("nothing, for as long", () -> {
                TimeUnit.NANOSECONDS.sleep(took / 2);
                return List.of();
            });
        }
    }

    /** Work whose shards have their pauses told by the engine. */
    @FunctionalInterface
    private interface Work {
        List<SliceReport> run() throws Exception;
    }

    private void during(String name, Work work) throws Exception {
        changes.forget();
        List<SliceReport> reports = work.run();
        for (int shard : leaving.stream().toArray()) {
            seen.computeIfAbsent(name, key -> new ArrayList<>()).add(changes.longestMillis(shard));
        }
        if (!reports.isEmpty()) {
            if (reports.size() != leaving.size()) {
                throw new IllegalStateException(
                        "%s of %s shards had a %s".formatted(reports.size(), leaving.size(), name));
            }
            for (SliceReport report : reports) {
                said.computeIfAbsent(name, key -> new ArrayList<>())
                        .add(report.pause().toNanos() / 1e6);
            }
        }
    }

    private static void print(String what, List<Double> values) {
        Distribution pauses = Distribution.of(values);
        System.out.printf(
                "%-55s %s: p50 %s ms, p99 %s ms, max %s ms%n",
                what,
                pauses.size(),
                Figures.number(pauses.percentile(50)),
                Figures.number(pauses.percentile(99)),
                Figures.number(pauses.max()));
    }
}
