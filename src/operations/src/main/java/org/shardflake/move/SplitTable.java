/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.shardflake.compare.Rows;
import org.shardflake.compare.Rows.Digest;
import org.shardflake.jdbc.Sql;

/**
 * A table in parts by ranges of its primary key.
 *
 * @param key its first column, if the table has several parts
 * @param bounds the least keys of all parts but the first, increasing
 */
record SplitTable(TableCopy.Table table, String key, List<Long> bounds) {

    /** Only of integers, which every server orders alike. */
    private static final String KEY = """
            SELECT quote_ident(a.attname)
              FROM pg_index x JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
             WHERE x.indrelid = ?::regclass AND x.indisprimary AND a.atttypid IN ('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)
            """;

    private static final String PAGES = "SELECT pg_relation_size(?::regclass) / current_setting('block_size')::integer";

    /** So many keys, from the beginning of a table to its end, tell in which order it has its rows. */
    private static final int SAMPLES = 64;

    /** Of them, so many have to be greater than the one before. */
    private static final double IN_ORDER = 0.9;

    /**
     * Splits a table, if it is larger than a part and has its rows about in the order of the key, as with ids: ranges of keys would
     * otherwise be read from everywhere.
     *
     * <p>Bounds are keys found at pages of fixed numbers, so a table has nearly the same ones later, also when it has grown.
     *
     * @param source sees the rows
     * @param partSize the most bytes of a part, with TOAST, while keys are as dense everywhere
     */
    static SplitTable of(Connection source, TableCopy.Table table, long partSize) throws SQLException {
        Optional<String> key = table.size() > partSize
                ? Sql.list(source, KEY, row -> row.getString(1), table.name()).stream()
                        .findFirst()
                : Optional.empty();
        return new SplitTable(
                table, key.orElse(""), key.isPresent() ? bounds(source, table, key.get(), partSize) : List.of());
    }

    private static List<Long> bounds(Connection source, TableCopy.Table table, String key, long partSize)
            throws SQLException {
        long pages = Sql.number(source, PAGES, table.name());
        if (!isInOrder(keys(source, table, key, pages, Math.max(1, pages / SAMPLES)))) {
            return List.of();
        }
        // A power of two, since what TOAST takes of a part changes.
        long step = Long.highestOneBit(Math.max(1, Math.round((double) pages * partSize / table.size())));
        return keys(source, table, key, pages, step).stream()
                .distinct()
                .sorted()
                .toList();
    }

    private static boolean isInOrder(List<Long> keys) {
        int increasing = 0;
        for (int i = 1; i < keys.size(); i++) {
            increasing += keys.get(i) > keys.get(i - 1) ? 1 : 0;
        }
        return increasing >= IN_ORDER * (keys.size() - 1);
    }

    /** A key of each page that is so far from the one before; none of a page without rows. */
    private static List<Long> keys(Connection source, TableCopy.Table table, String key, long pages, long step)
            throws SQLException {
        List<Long> keys = new ArrayList<>();
        for (long page = step; page < pages; page += step) {
            String sql = "SELECT %s FROM ONLY %s WHERE ctid >= '(%d,0)' AND ctid < '(%d,0)' LIMIT 1"
                    .formatted(key, table.name(), page, page + 1);
            keys.addAll(Sql.list(source, sql, row -> row.getLong(1)));
        }
        return keys;
    }

    int parts() {
        return bounds.size() + 1;
    }

    /** SQL that tells the rows of a part, the first of which is 0. */
    String condition(int part) {
        List<String> limits = new ArrayList<>();
        if (part > 0) {
            limits.add("%s >= %d".formatted(key, bounds.get(part - 1)));
        }
        if (part < bounds.size()) {
            limits.add("%s < %d".formatted(key, bounds.get(part)));
        }
        return limits.isEmpty() ? "true" : String.join(" AND ", limits);
    }

    /** SQL for the number of a row's part. */
    private String partOfRow() {
        return bounds.isEmpty()
                ? "0"
                : "width_bucket(%s::bigint, '{%s}'::bigint[])"
                        .formatted(key, bounds.stream().map(String::valueOf).collect(Collectors.joining(",")));
    }

    /** SQL that tells the rows of some parts. */
    String condition(List<Integer> some) {
        return "%s IN (%s)"
                .formatted(partOfRow(), some.stream().map(String::valueOf).collect(Collectors.joining(", ")));
    }

    /** Covers the rows of each part that has any. */
    Map<Integer, Digest> digests(Connection connection, Rows rows) throws SQLException {
        Map<Integer, Digest> digests = new HashMap<>();
        String sql = rows.digestsBy(partOfRow(), "ONLY " + table.name()) + " GROUP BY 1";
        Sql.execute(connection, "SET enable_sort = off"); // PostgreSQL expects as many parts as keys.
        Sql.list(connection, sql, row -> digests.put(row.getInt(1), new Digest(row.getLong(2), row.getString(3))));
        Sql.execute(connection, "RESET enable_sort");
        return digests;
    }
}
