/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.jdbc.Sql;

/**
 * A column of a shard's table that identifies the shard of a row.
 *
 * @param table with its schema, as written in SQL
 * @param column its name
 * @param name the name of the check
 * @param condition the condition that the shard's rows meet
 * @param key the columns that identify a row, as written in SQL
 * @param present whether a constraint of that name exists
 * @param validated whether it is known to hold for all rows
 */
record RowCheck(
        int shard,
        String table,
        String column,
        String name,
        String condition,
        String key,
        boolean present,
        boolean validated) {

    private static final int SAMPLES = 3;

    private static final String CHECKS = """
            SELECT format('%I.%I', t.relnamespace::regnamespace, t.relname), c.column_name, quote_ident(c.check_name), c.expression,
                   COALESCE((SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.place)
                               FROM pg_constraint p CROSS JOIN LATERAL unnest(p.conkey) WITH ORDINALITY k (attnum, place)
                               JOIN pg_attribute a ON a.attrelid = p.conrelid AND a.attnum = k.attnum
                              WHERE p.conrelid = c.target AND p.contype = 'p'), quote_ident(c.column_name)),
                   c.present, c.validated
              FROM shardflake.checks(?) c JOIN pg_class t ON t.oid = c.target
            """;

    /** The checks that a shard's tables have or are missing. */
    static List<RowCheck> of(Connection connection, int shard) throws SQLException {
        return Sql.list(
                connection,
                CHECKS,
                row -> new RowCheck(
                        shard,
                        row.getString(1),
                        row.getString(2),
                        row.getString(3),
                        row.getString(4),
                        row.getString(5),
                        row.getBoolean(6),
                        row.getBoolean(7)),
                shard);
    }

    /** Reads the whole table for rows of other shards; empty if there are none. */
    List<StrayRows> strays(Connection connection, String server) throws SQLException {
        String where = " FROM %s WHERE NOT (%s)".formatted(table, condition);
        long rows = Sql.number(connection, "SELECT count(*)" + where);
        if (rows == 0) {
            return List.of();
        }
        List<String> samples = Sql.list(
                connection,
                "SELECT concat_ws(', ', %s)%s LIMIT %s".formatted(key, where, SAMPLES),
                row -> row.getString(1));
        return List.of(new StrayRows(shard, server, table, column, rows, samples));
    }
}
