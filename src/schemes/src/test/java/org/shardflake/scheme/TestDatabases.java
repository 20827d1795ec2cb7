/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.server.ServerUrl;

/** What tests do with databases. */
final class TestDatabases {

    private TestDatabases() {}

    static PGSimpleDataSource dataSource(TestDatabase database) {
        return ServerUrl.parse(database.uri()).dataSource();
    }

    /** The same, where clock_timestamp() shows what {@link #showTime} says. */
    static PGSimpleDataSource withTestClock(TestDatabase database) {
        PGSimpleDataSource dataSource = dataSource(database);
        dataSource.setCurrentSchema("test_clock,pg_catalog");
        return dataSource;
    }

    static void makeTestClock(Connection connection) throws SQLException {
        execute(
                connection,
                "CREATE SCHEMA test_clock",
                "CREATE TABLE test_clock.shown (at timestamptz NOT NULL)",
                "INSERT INTO test_clock.shown VALUES (now())",
                "CREATE FUNCTION test_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE"
                        + " RETURN (SELECT at FROM test_clock.shown)");
    }

    /** Has the clock show a time. */
    static void showTime(TestDatabase database, String timestamp) throws SQLException {
        execute(database, "UPDATE test_clock.shown SET at = '%s'".formatted(timestamp));
    }

    static void execute(TestDatabase database, String... statements) throws SQLException {
        try (Connection connection = database.connect()) {
            execute(connection, statements);
        }
    }

    static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    static String query(TestDatabase database, String sql) throws SQLException {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }
}
