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
 * What is in the schemas of shards, read from PostgreSQL's catalog: all that {@code pg_dump --schema} would write but rows and
 * positions of sequences, with the schema's own name and the shard's number left out, so that shards can be compared.
 */
final class ShardDescription {

    /** Up to so many shards it is quicker to go through indexes for each than to read PostgreSQL's catalog as a whole. */
    private static final int FEW_SHARDS = 50;

    private static final String LINES = sql("things.sql") + ",\n" + sql("description.sql");

    /** Without names of NOT NULL, which 18 began to keep, and qualifiers in views, which 16 ceased to write. */
    private static final String ACROSS_VERSIONS = """
            , spelled AS (
                SELECT shard, kind, object,
                       CASE WHEN kind IN ('view', 'materialized view', 'rule') THEN regexp_replace(definition, '("[^"]+"|\\w+)\\.', '', 'g')
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

    /** Part of a query, from the file of that name beside this class. */
    static String sql(String file) {
        try (InputStream text = Objects.requireNonNull(ShardDescription.class.getResourceAsStream(file))) {
            return new String(text.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * A hash for each shard that is there; shards of equal schemas have equal ones.
     *
     * @param acrossVersions without what another major version of PostgreSQL spells in another way
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

    /** Names are written in full where the search_path is empty, so in the same way for every session. */
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
