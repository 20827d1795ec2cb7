/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;

class KeptSessionsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    private static final String PROCESS = "SELECT pg_backend_pid()";

    private static final String STATE = """
            SELECT concat_ws(E'\\n', current_setting('application_name'), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
                       to_regclass('pg_temp.rest') IS NOT NULL, COALESCE(current_setting('shardflake.rest', true), ''), (SELECT count(*) FROM pg_listening_channels()),
                       (SELECT string_agg(name || ' = ' || setting, E'\\n' ORDER BY name) FROM pg_settings))
            """;

    private final KeptSessions sessions = new KeptSessions();
    private final ServerUrl url = ServerUrl.parse(postgres.database(0).uri()).keeping(sessions);

    private static String ask(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    private String ask(String sql) throws SQLException {
        try (Connection connection = url.connect("a test")) {
            return ask(connection, sql);
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void aSessionIsLentAgainWithNothingOfTheWorkBefore() throws SQLException {
        String usual = ask(STATE);
        try (KeptSessions.Keeping keeping = sessions.keep()) {
            String process;
            try (Connection connection = url.connect("another test")) {
                process = ask(connection, PROCESS);
                execute(
                        connection,
                        "SET search_path = public; SET lock_timeout = '1s'; SET session_replication_role = replica; SET shardflake.rest = 'x'; SET statement_timeout = '1h'; CREATE TEMPORARY TABLE rest (); SELECT pg_advisory_lock(1); LISTEN here");
                connection.setReadOnly(true);
                connection.setAutoCommit(false);
                ask(connection, STATE);
            }

            try (Connection connection = url.connect("a test")) {
                assertThat(ask(connection, PROCESS)).isEqualTo(process);
                assertThat(ask(connection, STATE)).isEqualTo(usual);
                assertThat(connection.getAutoCommit()).isTrue();
                assertThat(connection.isReadOnly()).isFalse();
                assertThat(ask(PROCESS)).as("while the first is in use").isNotEqualTo(process);
            }
        }
    }

    @Test
    void aSessionThatHasEndedIsReplaced() throws SQLException {
        try (KeptSessions.Keeping keeping = sessions.keep()) {
            String process = ask(PROCESS);
            try (Connection other = postgres.database(0).connect()) {
                ask(other, "SELECT pg_terminate_backend(%s, 60000)".formatted(process));
            }

            assertThat(ask(PROCESS)).isNotEqualTo(process);
        }
    }

    @Test
    void aConnectionIsClosedForItsUserAndTheSessionWhenNoMoreAreKept() throws SQLException {
        String process;
        try (KeptSessions.Keeping keeping = sessions.keep()) {
            Connection connection = url.connect("a test");
            process = ask(connection, PROCESS);
            connection.close();
            connection.close();
            assertThat(connection.isClosed()).isTrue();
            assertThatThrownBy(connection::createStatement).hasMessage("the connection is closed");
            try (Connection next = url.connect("a test")) {
                assertThat(ask(next, PROCESS)).isEqualTo(process);
                assertThat(ask(PROCESS)).as("closed twice, lent once").isNotEqualTo(process);
            }
        }
        try (Connection other = postgres.database(0).connect()) {
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> ask(other, "SELECT count(*) FROM pg_stat_activity WHERE pid = " + process)
                            .equals("0"));
        }
    }
}
