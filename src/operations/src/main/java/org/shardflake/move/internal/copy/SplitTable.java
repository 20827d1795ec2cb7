/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.copy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.shardflake.compare.Rows;
import org.shardflake.compare.Rows.Digest;
import org.shardflake.jdbc.Sql;

/**
 * A table divided into parts by ranges of its primary key.
 *
 * @param key its first column, if the table has several parts
 * @param bounds the least keys of all parts but the first, increasing
 */
public record SplitTable(TableCopy.Table table, String key, List<Long> bounds) {

    /** Finds an integer key, which every server sorts in the same way. */
    private static final String KEY = """
            SELECT quote_ident(a.attname)
              FROM pg_index x JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
             WHERE x.indrelid = ?::regclass AND x.indisprimary AND a.atttypid IN ('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)
            """;

    private static final String PAGES = "SELECT pg_relation_size(?::regclass) / current_setting('block_size')::integer";

    /** The number of parts below which a table is copied whole, since that is faster and quickly repeated. */
    private static final int FEWEST_PARTS = 10;

    /** The number of keys, sampled across a table, that show how its rows are ordered. */
    private static final int SAMPLES = 256;

    /** The share of keys in a sorted table that may lie far before their predecessor; in random order, half do. */
    private static final double FAR_BACK = 0.25;

    /** The distance that counts as far, relative to the table. */
    private static final double FAR = 0.05;

    /** The mean distance of keys from their sorted position that a sorted table may have; in random order, it is a third of the table. */
    private static final double OUT_OF_PLACE = 0.2;

    /**
     * Splits a table if it is large enough and its rows are roughly in key order, as with ids; otherwise each range of keys would be spread
     * over the whole table.
     *
     * <p>Bounds are keys found at pages of fixed numbers, so a table has nearly the same ones later, also when it has grown.
     *
     * @param source sees the rows
     * @param partSize about the most bytes of a part, with TOAST
     */
    static SplitTable of(Connection source, TableCopy.Table table, long partSize) throws SQLException {
        Optional<String> key = isLarge(table.size(), partSize)
                ? Sql.list(source, KEY, row -> row.getString(1), table.name()).stream()
                        .findFirst()
                : Optional.empty();
        return new SplitTable(
                table, key.orElse(""), key.isPresent() ? bounds(source, table, key.get(), partSize) : List.of());
    }

    /** Whether a table of this size, or a table in a shard of this size, may be split. */
    public static boolean isLarge(long bytes, long partSize) {
        return bytes / FEWEST_PARTS > partSize;
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

    /**
     * Whether a range of keys is stored in few places of the table. A copy in parts over several connections leaves rows of as many parts side
     * by side: few such parts have few places to go back to, and of many ones each is not far from its place.
     *
     * @param keys in the order of the table
     */
    static boolean isInOrder(List<Long> keys) {
        List<Integer> places = IntStream.range(0, keys.size())
                .boxed()
                .sorted(Comparator.comparing(keys::get))
                .toList();
        int farBack = 0;
        long outOfPlace = 0;
        for (int i = 0; i < places.size(); i++) {
            farBack += i > 0 && places.get(i - 1) - places.get(i) > Math.max(1, FAR * keys.size()) ? 1 : 0;
            outOfPlace += Math.abs(places.get(i) - i);
        }
        return farBack <= FAR_BACK * keys.size() || outOfPlace <= OUT_OF_PLACE * keys.size() * keys.size();
    }

    /** Keys sampled from pages at a fixed distance; pages without rows give none. */
    private static List<Long> keys(Connection source, TableCopy.Table table, String key, long pages, long step)
            throws SQLException {
        List<Long> keys = new ArrayList<>();
        for (long page = step; page < pages; page += step) {
            String sql = "SELECT %s FROM ONLY %s WHERE ctid >= '(%s,0)' AND ctid < '(%s,0)' LIMIT 1"
                    .formatted(key, table.name(), page, page + 1);
            keys.addAll(Sql.list(source, sql, row -> row.getLong(1)));
        }
        return keys;
    }

    int parts() {
        return bounds.size() + 1;
    }

    /** A condition for the rows of a part; the first part is 0. */
    String condition(int part) {
        List<String> limits = new ArrayList<>();
        if (part > 0) {
            limits.add("%s >= %s".formatted(key, bounds.get(part - 1)));
        }
        if (part < bounds.size()) {
            limits.add("%s < %s".formatted(key, bounds.get(part)));
        }
        return limits.isEmpty() ? "true" : String.join(" AND ", limits);
    }

    /** The SQL expression for the number of a row's part. */
    private String partOfRow() {
        return bounds.isEmpty()
                ? "0"
                : "width_bucket(%s::bigint, '{%s}'::bigint[])"
                        .formatted(key, bounds.stream().map(String::valueOf).collect(Collectors.joining(",")));
    }

    /** A condition for the rows of some parts. */
    String condition(List<Integer> some) {
        return "%s IN (%s)"
                .formatted(partOfRow(), some.stream().map(String::valueOf).collect(Collectors.joining(", ")));
    }

    /** The digests of all parts that have rows. */
    Map<Integer, Digest> digests(Connection connection, Rows rows) throws SQLException {
        Map<Integer, Digest> digests = new HashMap<>();
        String sql = rows.digestsBy(partOfRow(), "ONLY " + table.name()) + " GROUP BY 1";
        Sql.execute(connection, "SET enable_sort = off"); // PostgreSQL expects as many parts as keys.
        Sql.list(connection, sql, row -> digests.put(row.getInt(1), new Digest(row.getLong(2), row.getString(3))));
        Sql.execute(connection, "RESET enable_sort");
        return digests;
    }
}
