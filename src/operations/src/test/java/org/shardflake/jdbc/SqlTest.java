/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
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
}
