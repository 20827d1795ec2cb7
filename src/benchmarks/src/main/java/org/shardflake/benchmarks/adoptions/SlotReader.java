/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.adoptions;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGProperty;
import org.postgresql.replication.PGReplicationStream;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;

/** A slot of {@code pgoutput} that reads and forgets the changes of publication {@code followed}. */
final class SlotReader {

    private static final String NAME = "followed";
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private volatile boolean closed;
    private volatile @Nullable SQLException failure;

    private SlotReader() {}

    /** Measures something while a slot is there and read. */
    static double reading(SourceDatabase database, Rounds.Measurement<Exception> measurement) throws Exception {
        SlotReader reader = new SlotReader();
        try (Connection replication = replication(database.server(), database.name())) {
            PGReplicationStream stream = stream(replication);
            Thread thread = new Thread(() -> reader.read(stream), "slot reader");
            thread.start();
            double measured;
            try {
                measured = measurement.measure();
            } finally {
                reader.closed = true;
                thread.join();
            }
            SQLException failed = reader.failure;
            if (failed != null) {
                throw new IllegalStateException("changes could not be read", failed);
            }
            return measured;
        } finally {
            awaitEnd(database);
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
        PGConnection connection = replication.unwrap(PGConnection.class);
        connection
                .getReplicationAPI()
                .createReplicationSlot()
                .logical()
                .withSlotName(NAME)
                .withOutputPlugin("pgoutput")
                .withTemporaryOption()
                .make();
        return connection
                .getReplicationAPI()
                .replicationStream()
                .logical()
                .withSlotName(NAME)
                .withSlotOption("proto_version", "1")
                .withSlotOption("publication_names", NAME)
                .withStatusInterval(1, TimeUnit.SECONDS)
                .start();
    }

    private void read(PGReplicationStream stream) {
        try {
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

    /** Waits until the server has noticed that the connection is closed, and works for it no more. */
    private static void awaitEnd(SourceDatabase database) throws SQLException {
        try (Connection connection = database.connect()) {
            boolean ended = Poll.everyMillis(20, PATIENCE)
                    .until(
                            () -> Sql.isTrue(
                                    connection,
                                    "SELECT NOT EXISTS (SELECT FROM pg_replication_slots WHERE database = current_database())"));
            if (!ended) {
                throw new IllegalStateException("the server keeps the slot of a closed connection");
            }
        }
    }
}
