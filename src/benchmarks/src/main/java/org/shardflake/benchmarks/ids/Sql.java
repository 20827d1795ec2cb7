/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** What the measurements of ids ask a database over and over. */
public final class Sql {

    private Sql() {}

    /** Runs statements, one after the other. */
    public static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /**
     * The one value that a query returns, as text.
     *
     * @throws SQLException also if there is none, or it is null
     */
    public static String text(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            String value = row.next() ? row.getString(1) : null;
            if (value == null) {
                throw new SQLException("nothing came of: " + sql);
            }
            return value;
        }
    }

    /** The one number that a query returns. */
    public static double number(Connection connection, String sql) throws SQLException {
        return Double.parseDouble(text(connection, sql));
    }

    /** How long it takes to make so many ids with an expression in one statement: microseconds per id. */
    public static double microsPerId(Connection connection, String expression, int ids) throws SQLException {
        long start = System.nanoTime();
        text(connection, "SELECT count(%s) FROM generate_series(1, %d)".formatted(expression, ids));
        return (System.nanoTime() - start) / 1e3 / ids;
    }

    /** Where the write-ahead log ends now. */
    public static String walPosition(Connection connection) throws SQLException {
        return text(connection, "SELECT pg_current_wal_insert_lsn()");
    }

    /** How many bytes were logged since. */
    public static double walBytesSince(Connection connection, String position) throws SQLException {
        return number(connection, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '%s')".formatted(position));
    }
}
