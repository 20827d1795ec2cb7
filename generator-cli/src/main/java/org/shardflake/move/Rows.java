/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The rows of one table, as hashes of their text: equal wherever the rows are, on every version of PostgreSQL.
 *
 * @param name the table, with its schema
 * @param columns a row expression of all columns
 * @param key a row expression of the columns that identify a row
 */
record Rows(String name, String columns, String key) {

    /** What the text of a value depends on. */
    static final String SETTINGS =
            "SET extra_float_digits = 1; SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'postgres'; SET TimeZone = 'UTC'; SET bytea_output = 'hex'; SET xmlbinary = 'base64'; SET lc_monetary = 'C'";

    private static final String HASH = "('x' || left(md5((%s)::text), 16))::bit(64)::bigint";
    private static final String BUCKET = "('x' || left(md5((%s)::text), 3))::bit(12)::integer";

    private static final String COLUMNS = """
            SELECT format('ROW(%s)', string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname)),
                   format('ROW(%s)', string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname) FILTER (WHERE a.attnum = ANY (
                       (SELECT i.indkey FROM pg_index i WHERE i.indrelid = a.attrelid AND (i.indisreplident OR i.indisprimary)
                         ORDER BY i.indisreplident DESC LIMIT 1)::int2[])))
              FROM pg_attribute a
             WHERE a.attrelid = ?::regclass AND a.attnum > 0 AND NOT a.attisdropped
            """;

    /**
     * Count and sum of the hashes of some rows.
     *
     * @param sum in decimal: it may exceed 64 bits
     */
    record Digest(long count, String sum) {}

    static Rows of(Connection connection, String table) throws SQLException {
        return Sql.list(connection, COLUMNS, row -> new Rows(table, row.getString(1), row.getString(2)), table)
                .get(0);
    }

    /** Of all rows. The order of the rows does not matter. */
    Digest digest(Connection connection) throws SQLException {
        String sql = "SELECT count(*), COALESCE(sum(%s), 0) FROM %s".formatted(HASH.formatted(columns), name);
        return Sql.list(connection, sql, row -> new Digest(row.getLong(1), row.getString(2)))
                .get(0);
    }

    /** Of the rows whose key falls into each of 4096 buckets. */
    Map<Integer, Digest> bucketDigests(Connection connection) throws SQLException {
        String sql = "SELECT %s, count(*), sum(%s) FROM %s GROUP BY 1"
                .formatted(BUCKET.formatted(key), HASH.formatted(columns), name);
        Map<Integer, Digest> digests = new HashMap<>();
        Sql.list(connection, sql, row -> digests.put(row.getInt(1), new Digest(row.getLong(2), row.getString(3))));
        return digests;
    }

    /** Hashes of the rows in some buckets, by key. */
    Map<String, Long> inBuckets(Connection connection, Collection<Integer> buckets) throws SQLException {
        return hashes(connection, BUCKET.formatted(key), connection.createArrayOf("integer", buckets.toArray()));
    }

    /** Hashes of the rows with some keys; those that are not there are left out. */
    Map<String, Long> withKeys(Connection connection, Collection<String> keys) throws SQLException {
        return hashes(connection, "(%s)::text".formatted(key), connection.createArrayOf("text", keys.toArray()));
    }

    private Map<String, Long> hashes(Connection connection, String which, Object wanted) throws SQLException {
        String sql =
                "SELECT (%s)::text, %s FROM %s WHERE %s = ANY (?)".formatted(key, HASH.formatted(columns), name, which);
        Map<String, Long> hashes = new HashMap<>();
        Sql.list(connection, sql, row -> hashes.put(row.getString(1), row.getLong(2)), wanted);
        return hashes;
    }

    /** What sets two connections up to compare what they see. */
    static List<Connection> prepare(List<Connection> connections) throws SQLException {
        for (Connection connection : connections) {
            Sql.execute(connection, SETTINGS);
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
        }
        return connections;
    }
}
