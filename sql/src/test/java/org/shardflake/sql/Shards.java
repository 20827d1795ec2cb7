/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;

/** What the tests of this module do to a database over and over. */
final class Shards {

    private Shards() {}

    /** Deploys the library and creates shard 7 with table {@code photo}. */
    static void deployWithPhotos(Connection connection) throws SQLException {
        FunctionLibrary.deploy(connection);
        execute(
                connection,
                "SELECT shardflake.create_shard(7)",
                "CREATE TABLE shard_0007.photo (id bigint PRIMARY KEY, uid bigint NOT NULL DEFAULT 7)",
                "SELECT shardflake.add_id_sequence('shard_0007.photo')");
    }

    /** Has the library read a clock that stands in table {@code public.test_clock}, at the real time to begin with. */
    static void replaceClock(Connection connection) throws SQLException {
        execute(
                connection,
                "CREATE TABLE public.test_clock AS SELECT shardflake.clock_ms() AS ms",
                "CREATE OR REPLACE FUNCTION shardflake.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE"
                        + " RETURN (SELECT ms FROM public.test_clock)",
                "CREATE OR REPLACE FUNCTION shardflake.clock() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE"
                        + " RETURN (SELECT to_timestamp(ms / 1000.0) FROM public.test_clock)");
    }

    static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    static long queryLong(Connection connection, String sql) throws SQLException {
        long[] values = queryLongs(connection, sql);
        if (values.length != 1) {
            throw new AssertionError(values.length + " rows instead of one: " + sql);
        }
        return values[0];
    }

    static long[] queryLongs(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            long[] values = new long[16];
            int count = 0;
            while (rows.next()) {
                if (count == values.length) {
                    values = Arrays.copyOf(values, count * 2);
                }
                values[count++] = rows.getLong(1);
            }
            return Arrays.copyOf(values, count);
        }
    }

    static String queryString(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            if (!row.next()) {
                throw new AssertionError("no row: " + sql);
            }
            return row.getString(1);
        }
    }

    /** The ticks of an id: its milliseconds and its count as one number. */
    static long ticks(long id) {
        return (id >>> 23) << 10 | (id & 1023);
    }
}
