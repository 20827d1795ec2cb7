/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.adoptions;

import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGProperty;
import org.postgresql.replication.PGReplicationStream;
import org.shardflake.ShardSet;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;

/** Measures how much following an old database slows its writers down, on three equal databases that are followed in different ways. */
final class WriterCost implements AutoCloseable {

    static final String ALONE = "not adopted";
    static final String JOURNAL = "followed by the journal of keys";
    static final String DECODED = "read by logical decoding";

    private static final String SLOT = "followed";
    private static final int SHARDS = 4;
    private static final int SESSIONS = 8;
    private static final int TURN_MILLIS = 2000;
    private static final int ORDERS = 20_000;

    private static final String CHANGELOG = """
            databaseChangeLog:
            - changeSet: {id: followed, author: app, changes: [{sql: {sql: "CREATE TABLE followed (id bigint PRIMARY KEY, uid bigint NOT NULL, note integer); COMMENT ON COLUMN followed.uid IS 'shard key'; CREATE TABLE line (id bigint PRIMARY KEY, order_id bigint NOT NULL, text text, uid bigint NOT NULL); COMMENT ON COLUMN line.uid IS 'shard key'"}}]}
            """;

    private final Map<String, BlockingQueue<Connection>> sessions = new LinkedHashMap<>();
    private final AtomicLong lines = new AtomicLong(ORDERS);
    private final BenchmarkInstallation installation;
    private final PostgresServer server;
    private final Thread reader;
    private volatile boolean closed;
    private volatile @Nullable SQLException failure;

    private WriterCost(
            BenchmarkInstallation installation,
            PostgresServer server,
            Connection replication,
            PGReplicationStream stream) {
        this.installation = installation;
        this.server = server;
        this.reader = new Thread(() -> read(replication, stream), "slot reader");
    }

    /** Makes the three databases. */
    static WriterCost prepare(PostgresCluster cluster, PostgresServer server) throws Exception {
        BenchmarkInstallation installation = BenchmarkInstallation.spread(cluster, "cost", 2, SHARDS);
        installation.deploy(CHANGELOG);
        Map<String, SourceDatabase> databases = new LinkedHashMap<>();
        for (Map.Entry<String, String> database :
                Map.of(ALONE, "alone", JOURNAL, "journal", DECODED, "decoded").entrySet()) {
            SourceDatabase made = new SourceDatabase(installation, server, database.getValue(), "shop", TABLES);
            made.create();
            fill(made);
            databases.put(database.getKey(), made);
        }
        try (DatabaseAdopter adopter = source(databases, JOURNAL).adopter()) {
            adopter.cutOver(ShardSet.of());
        }
        try (Connection connection = source(databases, DECODED).connect()) {
            Sql.execute(connection, "CREATE PUBLICATION %s FOR TABLE shop.followed, shop.line".formatted(SLOT));
            Sql.execute(connection, "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(SLOT));
        }
        Connection replication = replication(server, "decoded");
        WriterCost cost = new WriterCost(installation, server, replication, stream(replication));
        for (String candidate : List.of(ALONE, JOURNAL, DECODED)) {
            cost.connect(candidate, source(databases, candidate));
        }
        cost.reader.start();
        return cost;
    }

    private static final List<AdoptTable> TABLES = List.of(
            new AdoptTable("shop.followed", "followed", "uid", List.of(), null, List.of()),
            new AdoptTable("shop.line", "line", "uid", List.of("order_id"), "shop.followed", List.of("id")));

    private static SourceDatabase source(Map<String, SourceDatabase> databases, String candidate) {
        SourceDatabase database = databases.get(candidate);
        if (database == null) {
            throw new IllegalArgumentException(candidate);
        }
        return database;
    }

    private static void fill(SourceDatabase database) throws SQLException {
        try (Connection connection = database.connect()) {
            for (String sql : """
                    CREATE TABLE shop.followed (id bigint PRIMARY KEY, uid bigint NOT NULL, note integer);
                    CREATE TABLE shop.line (id bigint PRIMARY KEY, order_id bigint NOT NULL REFERENCES shop.followed, text text);
                    INSERT INTO shop.followed SELECT n, n, 0 FROM generate_series(0, %1$s - 1) n;
                    INSERT INTO shop.line SELECT n, n, md5(n::text) FROM generate_series(0, %1$s - 1) n;
                    VACUUM ANALYZE shop.followed, shop.line
                    """.formatted(ORDERS).split(";\n", -1)) {
                Sql.execute(connection, sql);
            }
        }
    }

    private void connect(String candidate, SourceDatabase database) throws SQLException {
        BlockingQueue<Connection> its = new ArrayBlockingQueue<>(SESSIONS);
        sessions.put(candidate, its);
        for (int i = 0; i < SESSIONS; i++) {
            Connection connection = database.connect();
            connection.setAutoCommit(false);
            its.add(connection);
        }
    }

    private static Connection replication(PostgresServer server, String database) throws SQLException {
        Properties properties = new Properties();
        PGProperty.USER.set(properties, server.user());
        PGProperty.PASSWORD.set(properties, server.password());
        PGProperty.ASSUME_MIN_SERVER_VERSION.set(properties, "12");
        PGProperty.REPLICATION.set(properties, "database");
        PGProperty.PREFER_QUERY_MODE.set(properties, "simple");
        return DriverManager.getConnection(server.jdbcUrl(database), properties);
    }

    private static PGReplicationStream stream(Connection replication) throws SQLException {
        return replication
                .unwrap(PGConnection.class)
                .getReplicationAPI()
                .replicationStream()
                .logical()
                .withSlotName(SLOT)
                .withSlotOption("proto_version", "1")
                .withSlotOption("publication_names", SLOT)
                .withStatusInterval(1, TimeUnit.SECONDS)
                .start();
    }

    /** Reads and forgets all changes. */
    private void read(Connection replication, PGReplicationStream stream) {
        try (replication;
                stream) {
            while (!closed) {
                if (stream.readPending() == null) {
                    TimeUnit.MILLISECONDS.sleep(1);
                }
                stream.setAppliedLSN(stream.getLastReceiveLSN());
                stream.setFlushedLSN(stream.getLastReceiveLSN());
            }
        } catch (SQLException e) {
            failure = e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Measures transactions a second of all of them, in turn. */
    Rounds measure(int rounds) throws Exception {
        Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
        sessions.forEach((candidate, its) ->
                candidates.put(candidate, () -> Sessions.perSecond(SESSIONS, TURN_MILLIS, () -> write(its))));
        Rounds measured = Rounds.run(1, rounds, candidates);
        SQLException failed = failure;
        if (failed != null) {
            throw new IllegalStateException("changes could not be read", failed);
        }
        return measured;
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
    public void close() throws SQLException, IOException, InterruptedException {
        closed = true;
        reader.join();
        for (BlockingQueue<Connection> its : sessions.values()) {
            for (Connection connection : its) {
                connection.close();
            }
        }
        try (Connection connection = server.connect("postgres")) {
            Sql.execute(connection, "SELECT pg_drop_replication_slot('%s')".formatted(SLOT));
        }
        installation.close();
    }
}
