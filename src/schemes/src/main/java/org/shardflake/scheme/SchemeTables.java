/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** The tables that generators keep in a database, in a separate schema created on first use. */
final class SchemeTables {

    private static final String LEASE = """
            CREATE TABLE IF NOT EXISTS shardflake_scheme.lease (
                scheme text NOT NULL,
                worker bigint NOT NULL,
                claims bigint NOT NULL,
                holder text NOT NULL,
                expires_at timestamptz NOT NULL,
                PRIMARY KEY (scheme, worker)
            )
            """;

    private SchemeTables() {}

    static void ensureLease(Connection connection) throws SQLException {
        ensure(connection, "to_regclass('shardflake_scheme.lease')", LEASE);
    }

    /**
     * Creates missing tables. It may already have been created by another role; using it takes no right to create it.
     *
     * @param look an expression that is null if it is missing
     * @param make statements that create it, unless another session has just done so
     */
    static void ensure(Connection connection, String look, String... make) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try (ResultSet row = statement.executeQuery("SELECT " + look + " IS NOT NULL")) {
                if (row.next() && row.getBoolean(1)) {
                    return;
                }
            }
            connection.setAutoCommit(false);
            try {
                // Two sessions that create a schema at once fail even with IF NOT EXISTS.
                statement.execute("SELECT pg_advisory_xact_lock(hashtext('shardflake_scheme'))");
                statement.execute("CREATE SCHEMA IF NOT EXISTS shardflake_scheme");
                for (String sql : make) {
                    statement.execute(sql);
                }
                connection.commit();
                connection.setAutoCommit(true);
            } catch (SQLException e) {
                rollBack(connection, e);
                throw e;
            }
        }
    }

    private static void rollBack(Connection connection, SQLException failure) {
        try {
            connection.rollback();
            connection.setAutoCommit(true);
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }
}
