/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.adoptions;

import static java.util.stream.Collectors.joining;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.shardflake.ShardSet;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;

/**
 * How much following an old database slows its writers down, on equal databases that are followed in different ways. Only one of them is written to at
 * a time, and a slot is there only in the turns of the databases that are read by it.
 */
public final class WriterCost implements AutoCloseable {

    static final String ALONE = "not adopted";
    static final String FOLLOWED = "followed by triggers, as `adopt run` leaves it";
    static final String FENCED = "the same, with the fence of the first cutover";
    static final String DECODED = "read by logical decoding";
    static final String DECODED_FENCED = "the same, with the fence";

    private static final int SHARDS = 4;
    private static final int ORDERS = 20_000;

    /** Tables of the shards for one of the databases. */
    private static final String CHANGE_SET = """
            - changeSet: {id: %1$s, author: app, changes: [{sql: {sql: "CREATE TABLE %1$s_order (id bigint PRIMARY KEY, uid bigint NOT NULL, note integer); COMMENT ON COLUMN %1$s_order.uid IS 'shard key'; CREATE TABLE %1$s_line (id bigint PRIMARY KEY, order_id bigint NOT NULL, text text, uid bigint NOT NULL); COMMENT ON COLUMN %1$s_line.uid IS 'shard key'"}}]}
            """;

    private static final String WITHOUT_JOURNAL =
            "DROP TRIGGER shardflake_adopt_note ON shop.followed; DROP TRIGGER shardflake_adopt_note ON shop.line";

    /** Prepares a database before its writers are measured. */
    @FunctionalInterface
    private interface Preparation {
        void prepare(SourceDatabase database) throws Exception;
    }

    private record Candidate(String database, boolean isDecoded, Preparation preparation) {}

    private final Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
    private final List<Connection> connections = new ArrayList<>();
    private final AtomicLong lines = new AtomicLong(ORDERS);
    private final BenchmarkInstallation installation;
    private final int sessions;
    private final int turnMillis;

    private WriterCost(BenchmarkInstallation installation, int sessions, int turnMillis) {
        this.installation = installation;
        this.sessions = sessions;
        this.turnMillis = turnMillis;
    }

    /** Measures, and prints what a page says of it. */
    public static void print() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "WriterCost", "cost.");
        int rounds = sizing.number("rounds", 21);
        int sessions = sizing.number("sessions", 8);
        int turnMillis = sizing.number("turn", 2000);
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(2);
                WriterCost cost = prepare(cluster, cluster.server(1), sessions, turnMillis)) {
            Rounds measured = cost.measure(rounds);
            for (List<String> line : table(measured)) {
                System.out.printf("%-50s %24s %24s%n", line.toArray());
            }
        }
    }

    /** Makes the databases, on a server of the cluster; the servers before the last have the shards. */
    static WriterCost prepare(PostgresCluster cluster, PostgresServer server, int sessions, int turnMillis)
            throws Exception {
        BenchmarkInstallation installation =
                BenchmarkInstallation.spread(cluster, "cost", cluster.servers().size() - 1, SHARDS);
        WriterCost cost = new WriterCost(installation, sessions, turnMillis);
        Map<String, Candidate> all = new LinkedHashMap<>();
        all.put(ALONE, new Candidate("alone", false, database -> {}));
        all.put(FOLLOWED, new Candidate("followed", false, WriterCost::follow));
        all.put(FENCED, new Candidate("fenced", false, WriterCost::fence));
        all.put(DECODED, new Candidate("decoded", true, database -> {}));
        all.put(DECODED_FENCED, new Candidate("decoded_fenced", true, database -> {
            fence(database);
            execute(database, WITHOUT_JOURNAL);
        }));
        installation.deploy("databaseChangeLog:\n"
                + all.values().stream()
                        .map(candidate -> CHANGE_SET.formatted(candidate.database()))
                        .collect(joining()));
        for (Map.Entry<String, Candidate> entry : all.entrySet()) {
            Candidate candidate = entry.getValue();
            String name = candidate.database();
            SourceDatabase database = new SourceDatabase(installation, server, name, "shop", tables(name));
            database.create();
            fill(database);
            candidate.preparation().prepare(database);
            cost.add(entry.getKey(), database, candidate.isDecoded());
        }
        return cost;
    }

    private static List<AdoptTable> tables(String database) {
        return List.of(
                new AdoptTable("shop.followed", database + "_order", "uid", List.of(), null, List.of()),
                new AdoptTable(
                        "shop.line", database + "_line", "uid", List.of("order_id"), "shop.followed", List.of("id")));
    }

    private static void follow(SourceDatabase database) {
        try (DatabaseAdopter adopter = database.adopter()) {
            adopter.run();
        }
    }

    private static void fence(SourceDatabase database) {
        try (DatabaseAdopter adopter = database.adopter()) {
            adopter.cutOver(ShardSet.of());
        }
    }

    private static void execute(SourceDatabase database, String sql) throws SQLException {
        try (Connection connection = database.connect()) {
            Sql.execute(connection, sql);
        }
    }

    private static void fill(SourceDatabase database) throws SQLException {
        for (String sql : """
                CREATE TABLE shop.followed (id bigint PRIMARY KEY, uid bigint NOT NULL, note integer);
                CREATE TABLE shop.line (id bigint PRIMARY KEY, order_id bigint NOT NULL REFERENCES shop.followed, text text);
                INSERT INTO shop.followed SELECT n, n, 0 FROM generate_series(0, %1$s - 1) n;
                INSERT INTO shop.line SELECT n, n, md5(n::text) FROM generate_series(0, %1$s - 1) n;
                CREATE PUBLICATION followed FOR TABLE shop.followed, shop.line;
                VACUUM ANALYZE shop.followed, shop.line
                """.formatted(ORDERS).split(";\n", -1)) {
            execute(database, sql);
        }
    }

    private void add(String candidate, SourceDatabase database, boolean isDecoded) throws SQLException {
        BlockingQueue<Connection> its = new ArrayBlockingQueue<>(sessions);
        for (int i = 0; i < sessions; i++) {
            Connection connection = database.connect();
            connection.setAutoCommit(false);
            connections.add(connection);
            its.add(connection);
        }
        Rounds.Measurement<Exception> written = () -> Sessions.perSecond(sessions, turnMillis, () -> write(its));
        candidates.put(candidate, isDecoded ? () -> SlotReader.reading(database, written) : written);
    }

    /** Measures transactions a second of all of them, in turn. */
    Rounds measure(int rounds) throws Exception {
        return Rounds.run(1, rounds, candidates);
    }

    /** The lines of a table: a candidate, its transactions a second, and compared with the first candidate. */
    static List<List<String>> table(Rounds measured) {
        return measured.candidates().stream()
                .map(candidate -> List.of(
                        candidate,
                        measured.of(candidate).toString(),
                        measured.ratio(candidate, ALONE).toString()))
                .toList();
    }

    private void write(BlockingQueue<Connection> its) throws SQLException, InterruptedException {
        Connection connection = its.take();
        long order = ThreadLocalRandom.current().nextInt(ORDERS);
        update(connection, "UPDATE shop.followed SET note = note + 1 WHERE id = ?", order);
        update(
                connection,
                "INSERT INTO shop.line (order_id, id, text) VALUES (?, ?, 'a line of an order')",
                order,
                lines.getAndIncrement());
        update(connection, "UPDATE shop.line SET text = 'another text of it' WHERE id = ?", order);
        connection.commit();
        its.put(connection);
    }

    private static void update(Connection connection, String sql, long... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setLong(i + 1, values[i]);
            }
            statement.executeUpdate();
        }
    }

    @Override
    public void close() throws SQLException, IOException {
        for (Connection connection : connections) {
            connection.close();
        }
        installation.close();
    }
}
