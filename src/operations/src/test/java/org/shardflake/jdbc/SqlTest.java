/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyOut;
import org.shardflake.cluster.PostgresExtension;

class SqlTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    /** More than once, since the server writes in the background too. */
    @Test
    void whatWasCommittedBeforeIsOnTheDiskAfterTheWaitForIt() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            Sql.execute(connection, "CREATE TABLE t (n int); SET synchronous_commit = off");
            for (int i = 0; i < 20; i++) {
                Sql.execute(connection, "INSERT INTO t VALUES (1)");
                String inserted = Sql.text(connection, "SELECT pg_current_wal_insert_lsn()");

                Sql.awaitDisk(connection);

                assertThat(Sql.isTrue(connection, "SELECT pg_current_wal_flush_lsn() >= ?::pg_lsn", inserted))
                        .isTrue();
            }
        }
    }

    /** The driver's own cancel leaves answers of the COPY to the next statement, which waits for ever, fails or is told something else. */
    @ParameterizedTest
    @ValueSource(ints = {3, 300_000})
    void aConnectionCanBeUsedAfterACopyThatWasNotReadToItsEnd(int rows) throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            connection.setAutoCommit(false);
            for (int i = 0; i < 5; i++) {
                CopyOut copy = copy(connection, "SELECT repeat('x', 100) FROM generate_series(1, %s)".formatted(rows));
                assertThat(copy.readFromCopy()).hasSize(101);

                Sql.cancel(connection, copy);

                connection.rollback();
                assertThat(Sql.number(connection, "SELECT 42")).isEqualTo(42);
            }
        }
    }

    @Test
    void aConnectionThatIsLostInTheMiddleOfACopyKeepsNobodyWaiting() throws SQLException {
        try (Connection connection = postgres.database(0).connect();
                Connection other = postgres.database(0).connect()) {
            long backend = Sql.number(connection, "SELECT pg_backend_pid()");
            CopyOut copy = copy(connection, "SELECT repeat('x', 100) FROM generate_series(1, 300000)");
            assertThat(copy.readFromCopy()).hasSize(101);
            Sql.call(other, "SELECT pg_terminate_backend(?)", (int) backend);

            assertThatThrownBy(() -> Sql.cancel(connection, copy)).isInstanceOf(SQLException.class);

            assertThatThrownBy(() -> Sql.number(connection, "SELECT 42")).isInstanceOf(SQLException.class);
        }
    }

    private static CopyOut copy(Connection connection, String query) throws SQLException {
        return connection.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (" + query + ") TO STDOUT");
    }
}
