/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import java.sql.Array;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.shardflake.grants.OwnersCode;
import org.shardflake.jdbc.Sql;

/**
 * The rows of one table, as hashes of their text: equal on every server and every version of PostgreSQL.
 *
 * @param name the table, with its schema
 * @param key a row expression of the columns that identify a row
 * @param keyTypes the types of these columns; empty if not all of them have an operator that every session finds
 * @param keyHash SQL for the hash of a row's key
 * @param hash SQL for the hash of a row, in which each column's value counts together with the row's others
 */
public record Rows(String name, String key, List<String> keyTypes, String keyHash, String hash) {

    private static final String MD5 = "('x' || left(md5((%s)::text), 16))::bit(64)::bigint";

    /** The hash for servers with different encodings. */
    private static final String MD5_OF_UTF8 = "('x' || left(md5(convert_to((%s)::text, 'UTF8')), 16))::bit(64)::bigint";

    /** The first PostgreSQL version that has the quick hash. */
    private static final int QUICK_SINCE = 14;

    private static final String BUCKET = "('x' || left(md5((%s)::text), 3))::bit(12)::integer";

    private static final String COLUMNS = """
            SELECT quote_ident(a.attname), CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN a.atttypid::regtype::text ELSE '' END,
                   a.attnotnull AND NOT EXISTS (SELECT FROM pg_constraint k
                        WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND NOT k.convalidated AND a.attnum = ANY (k.conkey)),
                   a.attnum = ANY (
                       (SELECT i.indkey FROM pg_index i WHERE i.indrelid = a.attrelid AND (i.indisreplident OR i.indisprimary)
                         ORDER BY i.indisreplident DESC LIMIT 1)::int2[]),
                   CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace OR t.typtype = 'e' THEN format_type(a.atttypid, a.atttypmod) END
              FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
             WHERE a.attrelid = ?::regclass AND a.attnum > 0 AND NOT a.attisdropped
               AND a.attname = ANY (COALESCE(?::text[]::name[], ARRAY[a.attname]))
             ORDER BY a.attname
            """;

    /**
     * The count of some rows, and the sum of their hashes.
     *
     * @param sum in decimal: it may exceed 64 bits
     */
    public record Digest(long count, String sum) {}

    /**
     * A row as one transaction left it.
     *
     * @param writer the transaction, as in {@code xmin}: a row that was changed and changed back has another
     */
    public record Version(long hash, String writer) {}

    /** The rows of a table on two servers, with the quick hash if both servers compute it in the same way. */
    public static Rows of(Connection one, Connection other, String table) throws SQLException {
        return of(List.of(one, other), table, null);
    }

    /**
     * Some columns of a table's rows, comparable with tables of other names, with the quick hash if all servers compute it in the same way.
     *
     * @param connections to all servers with such rows; the table is on the first
     * @param columns the names, not quoted; null for all
     */
    public static Rows of(List<Connection> connections, String table, @Nullable Collection<String> columns)
            throws SQLException {
        Connection first = connections.get(0);
        Array names = columns == null ? null : first.createArrayOf("text", columns.toArray());
        List<HashedColumn> key = new ArrayList<>();
        List<String> keyTypes = new ArrayList<>();
        List<HashedColumn> all = Sql.list(
                first,
                COLUMNS,
                row -> {
                    HashedColumn column = new HashedColumn(row.getString(1), row.getString(2), row.getBoolean(3));
                    if (row.getBoolean(4)) {
                        key.add(column);
                        Optional.ofNullable(row.getString(5)).ifPresent(keyTypes::add);
                    }
                    return column;
                },
                table,
                names);
        Function<List<HashedColumn>, String> hash = hash(connections);
        String keys = key.stream().map(HashedColumn::name).collect(Collectors.joining(", ", "ROW(", ")"));
        boolean areFound = keyTypes.size() == key.size();
        return new Rows(table, keys, areFound ? List.copyOf(keyTypes) : List.of(), hash.apply(key), hash.apply(all));
    }

    /** Chooses a hash; the quick one may differ between versions and machines. */
    private static Function<List<HashedColumn>, String> hash(List<Connection> connections) throws SQLException {
        Set<String> encodings = new HashSet<>();
        Set<Long> probes = new HashSet<>();
        for (Connection connection : connections) {
            encodings.add(Sql.text(connection, "SHOW server_encoding"));
            boolean hasQuick = connection.getMetaData().getDatabaseMajorVersion() >= QUICK_SINCE;
            probes.add(hasQuick ? Sql.number(connection, HashedColumn.PROBE) : connections.indexOf(connection));
        }
        if (encodings.size() > 1) {
            return columns -> MD5_OF_UTF8.formatted(row(columns));
        }
        return probes.size() == 1 ? HashedColumn::ofRow : columns -> MD5.formatted(row(columns));
    }

    private static String row(List<HashedColumn> columns) {
        return columns.stream().map(HashedColumn::value).collect(Collectors.joining(", ", "ROW(", ")"));
    }

    /** The digest of all rows, in any order. */
    public Digest digest(Connection connection) throws SQLException {
        String sql = "SELECT count(*), COALESCE(sum(%s), 0) FROM %s".formatted(hash, name);
        return Sql.list(connection, sql, row -> new Digest(row.getLong(1), row.getString(2)))
                .get(0);
    }

    /**
     * A query for the number of rows and the sum of their hashes in each part, given by another table's rows.
     *
     * @param part SQL for an integer that identifies the part of a row
     */
    public String digestsBy(String part, String table) {
        return "SELECT %s, count(*), COALESCE(sum(%s), 0) FROM %s".formatted(part, hash, table);
    }

    /**
     * A query for the rows of a part that another table defines, for {@link #ofParts}.
     *
     * @param part SQL for an integer that identifies the part of a row
     * @param keys the columns that identify a row, as written in SQL
     */
    public String partBy(String part, Collection<String> keys, String table) {
        return "SELECT ROW(%s, %s)::text AS part_key, %s AS part_hash FROM %s"
                .formatted(part, String.join(", ", keys), hash, table);
    }

    /**
     * The rows of parts of tables, each identified by its part and its key.
     *
     * @param queries made by {@link #partBy}
     */
    public static Rows ofParts(Collection<String> queries) {
        return new Rows(
                "(%s) parts".formatted(String.join(" UNION ALL ", queries)),
                "part_key",
                List.of(),
                "part_hash",
                "part_hash");
    }

    /** The same rows in a table of another name. */
    public Rows in(String table) {
        return new Rows(table, key, keyTypes, keyHash, hash);
    }

    /** The digests of the rows whose key falls into each of 4096 buckets. */
    public Map<Integer, Digest> bucketDigests(Connection connection) throws SQLException {
        String sql = "SELECT %s, count(*), sum(%s) FROM %s GROUP BY 1".formatted(BUCKET.formatted(key), hash, name);
        Map<Integer, Digest> digests = new HashMap<>();
        Sql.list(connection, sql, row -> digests.put(row.getInt(1), new Digest(row.getLong(2), row.getString(3))));
        return digests;
    }

    /** A query for the key and hash of the rows in some buckets, which are its only parameter, in the order of {@link KeyText#ORDER}. */
    String inBuckets() {
        return "SELECT (%1$s)::text, %2$s FROM %3$s WHERE %4$s = ANY (?) ORDER BY convert_to((%1$s)::text, 'UTF8'), 2"
                .formatted(key, hash, name, BUCKET.formatted(key));
    }

    /** The rows with these keys, found through an index where possible; missing rows are left out. */
    public Map<String, Version> withKeys(Connection connection, Collection<String> keys) throws SQLException {
        List<Object> parameters = new ArrayList<>();
        List<String> wanted = new ArrayList<>();
        List<List<String>> values = keys.stream().map(KeyText::values).toList();
        for (int i = 0; i < keyTypes.size(); i++) {
            int column = i;
            parameters.add(connection.createArrayOf(
                    "text", values.stream().map(its -> its.get(column)).toArray()));
            wanted.add("w.k%s::%s".formatted(i, keyTypes.get(i)));
        }
        String condition = "%s IN (SELECT %s FROM unnest(%s) AS w(%s))"
                .formatted(
                        key,
                        String.join(", ", wanted),
                        String.join(", ", Collections.nCopies(wanted.size(), "?::text[]")),
                        IntStream.range(0, wanted.size())
                                .mapToObj("k%s"::formatted)
                                .collect(Collectors.joining(", ")));
        if (wanted.isEmpty()) {
            parameters.add(connection.createArrayOf("text", keys.toArray()));
            condition = "(%s)::text = ANY (?)".formatted(key);
        }
        Map<String, Version> versions = new HashMap<>();
        Sql.list(
                connection,
                "SELECT (%s)::text, %s, xmin::text FROM %s WHERE %s".formatted(key, hash, name, condition),
                row -> versions.put(row.getString(1), new Version(row.getLong(2), row.getString(3))),
                parameters.toArray());
        return versions;
    }

    /**
     * The digests left to compare for a table most of whose rows are known to be equal.
     *
     * @param keys the digest of all keys
     * @param suspects the digest of the rows that may not be equal
     */
    public record Rest(Digest keys, Digest suspects) {}

    /**
     * The digests of all keys, and of the rows that meet a condition.
     *
     * @param suspect SQL for the condition
     */
    public Rest rest(Connection connection, String suspect) throws SQLException {
        String sql =
                "SELECT count(*), COALESCE(sum(%1$s), 0), count(*) FILTER (WHERE %3$s), COALESCE(sum(%2$s) FILTER (WHERE %3$s), 0) FROM %4$s"
                        .formatted(keyHash, hash, suspect, name);
        return Sql.list(
                        connection,
                        sql,
                        row -> new Rest(
                                new Digest(row.getLong(1), row.getString(2)),
                                new Digest(row.getLong(3), row.getString(4))))
                .get(0);
    }

    /** The keys of the rows that meet a condition. */
    public List<String> keysWhere(Connection connection, String suspect) throws SQLException {
        return Sql.list(
                connection,
                "SELECT (%s)::text FROM %s WHERE %s".formatted(key, name, suspect),
                row -> row.getString(1));
    }

    /** Prepares a connection so that its results can be compared with another connection's. */
    public static void prepare(Connection connection) throws SQLException {
        OwnersCode.refuseViews(connection);
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        connection.setReadOnly(true);
        connection.setAutoCommit(false);
    }
}
