/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/**
 * The contents of shard schemas, read from PostgreSQL's catalog: everything {@code pg_dump --schema} would write except rows and
 * sequence positions, without the schema's own name and the shard's number, so that shards can be compared.
 */
final class ShardDescription {

    /** The number of shards up to which reading the catalog by index, shard by shard, is faster than reading all of it. */
    private static final int FEW_SHARDS = 50;

    private static final String LINES = sql("things.sql") + ",\n" + sql("description.sql");

    /** Rewrites definitions so that versions agree: NOT NULL has names since 18, and views lost qualifiers in 16. */
    private static final String ACROSS_VERSIONS = """
            , spelled AS (
                SELECT shard, kind, object,
                       CASE WHEN kind IN ('view', 'materialized view', 'rule') THEN regexp_replace(definition, '("([^"]|"")+"|\\w+)\\.', '', 'g')
                            WHEN kind LIKE 'privileges of %' THEN regexp_replace(definition, '(=[a-zA-Z*]*?)m\\*?', '\\1', 'g') -- MAINTAIN, of 17
                            ELSE definition END AS definition
                  FROM neutral WHERE kind <> 'not null')
            """;

    private static final String FINGERPRINTS = """
            SELECT shard, md5(string_agg(concat_ws(' ', kind, object, definition), E'\\n' ORDER BY kind COLLATE "C", object COLLATE "C", definition COLLATE "C"))
              FROM %s GROUP BY shard""";

    private static final String DESCRIBE =
            "SELECT concat_ws(' ', kind, NULLIF(object, '')), definition FROM %s ORDER BY 1, 2";

    private ShardDescription() {}

    /** A part of a query, read from the file of that name in this package. */
    static String sql(String file) {
        try (InputStream text = Objects.requireNonNull(ShardDescription.class.getResourceAsStream(file))) {
            return new String(text.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * A hash for each existing shard; shards with equal schemas have equal hashes.
     *
     * @param acrossVersions omit what other major versions of PostgreSQL write differently
     */
    static Map<Integer, String> fingerprints(Connection connection, ShardSet shards, boolean acrossVersions)
            throws SQLException {
        Map<Integer, String> fingerprints = new TreeMap<>();
        query(
                connection,
                query(FINGERPRINTS, acrossVersions),
                shards,
                row -> fingerprints.put(row.getInt(1), row.getString(2)));
        return fingerprints;
    }

    /** The definitions in a shard, by object. */
    static Map<String, String> describe(Connection connection, int shard, boolean acrossVersions) throws SQLException {
        Map<String, String> definitions = new TreeMap<>();
        query(
                connection,
                query(DESCRIBE, acrossVersions),
                ShardSet.of(shard),
                row -> definitions.merge(row.getString(1), row.getString(2), (one, other) -> one + "; " + other));
        return definitions;
    }

    private static String query(String select, boolean acrossVersions) {
        return acrossVersions
                ? LINES + ACROSS_VERSIONS + select.formatted("spelled")
                : LINES + select.formatted("neutral");
    }

    /** Runs a query with an empty search_path, so that names are qualified and look the same in every session. */
    static <T> List<T> query(Connection connection, String sql, ShardSet shards, Sql.RowReader<T> rows)
            throws SQLException {
        if (!connection.getAutoCommit()) {
            return read(connection, sql, shards, rows);
        }
        return Sql.inTransaction(connection, () -> read(connection, sql, shards, rows));
    }

    private static <T> List<T> read(Connection connection, String sql, ShardSet shards, Sql.RowReader<T> rows)
            throws SQLException {
        String joins = shards.size() > FEW_SHARDS ? "on" : "off";
        Sql.execute(
                connection,
                "SET LOCAL search_path = ''; SET LOCAL jit = off; SET LOCAL enable_hashjoin = %1$s; SET LOCAL enable_mergejoin = %1$s; SET LOCAL enable_seqscan = %1$s"
                        .formatted(joins));
        return Sql.list(connection, sql, rows, shards);
    }
}
