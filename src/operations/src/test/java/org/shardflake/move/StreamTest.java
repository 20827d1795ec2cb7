/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;
import org.shardflake.replication.Replication;

class StreamTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    @Test
    void aPasswordIsNeitherInErrorsNorInWhatTheServerLogs() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            connection.setAutoCommit(false);

            Throwable refused = catchThrowable(() -> Replication.createSubscription(
                    connection,
                    "shardflake_test",
                    "shardflake_test",
                    "host='localhost' port='1' password='geheim'",
                    ""));

            StringWriter trace = new StringWriter();
            refused.printStackTrace(new PrintWriter(trace));
            assertThat(trace.toString())
                    .contains("could not connect to the publisher")
                    .doesNotContain("geheim");
        }
    }

    /** Of a server that logs all that it can, whoever makes the subscription, and whether that succeeds. */
    @ParameterizedTest
    @CsvSource({
        "postgres, localhost",
        "postgres, nowhere.invalid",
        "stream_role, localhost",
        "stream_role, nowhere.invalid"
    })
    void aPasswordIsNeitherInTheServersLogNorInItsActivity(String role, String host) throws SQLException {
        TestDatabase database = postgres.database(0);
        assumeTrue(database.server().canRestart(), "needs a server whose log is known");
        assumeTrue(role.equals("postgres") || database.server().majorVersion() >= 16, "PostgreSQL 15 has no such role");
        try (Connection connection = database.connect()) {
            Sql.execute(connection, ManagedRole.createByPassword());
            Sql.execute(connection, """
                    DO $$ BEGIN IF to_regrole('stream_role') IS NULL THEN CREATE ROLE stream_role; END IF; END $$;
                    ALTER ROLE stream_role LOGIN REPLICATION PASSWORD 'geheim'; GRANT logs_in_by_password TO stream_role;
                    DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO stream_role', current_database());
                          IF to_regrole('pg_create_subscription') IS NOT NULL THEN GRANT pg_create_subscription TO stream_role; END IF; END $$;
                    """);
            Sql.execute(connection, "DROP PUBLICATION IF EXISTS own; CREATE PUBLICATION own");
            for (String setting : List.of(
                    "log_statement = 'all'", "log_min_duration_statement = 0", "log_min_error_statement = 'debug1'")) {
                Sql.execute(connection, "ALTER ROLE %s SET %s".formatted(role, setting));
            }
            // Only a superuser can keep debugging messages from being logged.
            Sql.execute(connection, "ALTER ROLE postgres SET log_min_messages = 'debug1'");
            try (Connection its = database.connectAs(role, "geheim")) {
                its.setAutoCommit(false);
                String conninfo = "host='%s' port='%s' user='stream_role' password='geheim' dbname='%s'"
                        .formatted(host, Sql.text(its, "SHOW port"), database.name());
                Throwable refused = catchThrowable(
                        () -> Replication.createSubscription(its, "shardflake_test", "own", conninfo, ""));
                assertThat(refused == null).isEqualTo(host.equals("localhost"));
                assertThat(Sql.list(
                                connection,
                                "SELECT query FROM pg_stat_activity",
                                row -> String.valueOf(row.getString(1))))
                        .noneMatch(query -> query.contains("geheim") && !query.contains("PASSWORD"));
                its.rollback();
            } finally {
                Sql.execute(connection, "ALTER ROLE %s RESET ALL; ALTER ROLE postgres RESET ALL".formatted(role));
            }
            String log = Sql.text(
                    connection, "SELECT pg_read_file(current_setting('data_directory') || '/../postgres.log')");
            assertThat(log).contains("SHOW port");
            assertThat(log.lines().filter(line -> !line.contains("ALTER ROLE")))
                    .noneMatch(line -> line.contains("geheim"));
        }
    }

    /** A statement reads which publications a table is in, then looks each of them up. */
    @Test
    void whoeverWritesDoesNotNoticeThatAPublicationIsDropped() throws Exception {
        TestDatabase database = postgres.database(0);
        AtomicBoolean ends = new AtomicBoolean();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try (Connection connection = database.connect()) {
            Sql.execute(connection, "CREATE TABLE written AS SELECT g AS id, 0 AS times FROM generate_series(1, 4) g");
            Sql.execute(connection, "ALTER TABLE written ADD PRIMARY KEY (id)");
            // The more there are, the more time lies between the two, above all for new connections.
            for (int i = 0; i < 200; i++) {
                Sql.execute(connection, "CREATE PUBLICATION other_%s FOR TABLE written".formatted(i));
            }
            List<Future<Integer>> writers = IntStream.rangeClosed(1, 4)
                    .mapToObj(id -> threads.submit(() -> write(database, id, ends)))
                    .toList();

            for (int i = 0; i < 100; i++) {
                Sql.execute(connection, "CREATE PUBLICATION short_lived FOR TABLE written");
                Replication.dropPublication(connection, "short_lived", "");
            }

            ends.set(true);
            for (Future<Integer> writer : writers) {
                assertThat(writer.get()).isPositive();
            }
        } finally {
            ends.set(true);
            threads.shutdown();
        }
    }

    /** Returns how often. */
    private static int write(TestDatabase database, int id, AtomicBoolean ends) throws SQLException {
        int times = 0;
        while (!ends.get()) {
            try (Connection connection = database.connect()) {
                times += Sql.update(connection, "UPDATE written SET times = times + 1 WHERE id = ?", id);
            }
        }
        return times;
    }
}
