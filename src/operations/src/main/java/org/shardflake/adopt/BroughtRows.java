/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.shardflake.Sharding;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * Distinguishes rows that an adoption brought into the shards from rows that others wrote or changed. For one thread.
 *
 * <p>A row is the adoption's if one of its transactions wrote it last. Where that cannot be known, after a kill or a move, it is the
 * adoption's if it is equal to the old table's row, and columns that only the shards have hold their defaults.
 */
final class BroughtRows {

    private static final int SAMPLES = 3;

    /** The number of rows in one statement that has all their keys. */
    private static final int ROWS_AT_A_TIME = 500;

    /** Columns that only the shards have, with their values when no one sets them. A default that calls a function is not compared. */
    private static final String OWN_COLUMNS = """
            SELECT CASE WHEN e.text IS NULL THEN format('t.%I IS NULL', a.attname)
                        WHEN e.text ~ '[(]' OR a.attidentity <> '' THEN 'false'
                        ELSE format('t.%I IS NOT DISTINCT FROM (%s)', a.attname, e.text) END
              FROM pg_attribute a
              LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
             CROSS JOIN LATERAL (SELECT pg_get_expr(d.adbin, d.adrelid)) e (text)
             WHERE a.attrelid = ?::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> ALL (?::text[]::name[])
            """;

    private final OldTable old;
    private final List<Column> primaryKey;
    private final Rows rows;
    private final List<String> compared;

    /**
     * @param primaryKey of the shards' tables
     * @param rows how rows are compared
     * @param compared the names of the columns that are
     */
    BroughtRows(OldTable old, List<Column> primaryKey, Rows rows, List<String> compared) {
        this.old = old;
        this.primaryKey = primaryKey;
        this.rows = rows;
        this.compared = compared;
    }

    /** Rows that the adoption did not bring. */
    static final class Others {

        private long count;
        private final List<String> samples = new ArrayList<>();

        private void add(String table, List<String> key) {
            count++;
            if (samples.size() < SAMPLES) {
                samples.add("%s (%s)".formatted(table, String.join(", ", key)));
            }
        }

        long count() {
            return count;
        }

        /** Some of the rows, with their tables and primary keys. */
        String samples() {
            return String.join(", ", samples) + (count > samples.size() ? ", ..." : "");
        }
    }

    /**
     * A row that no transaction of the adoption is known to have written.
     *
     * @param hash of the columns that are compared
     * @param isPlain whether the other columns have their defaults
     */
    private record Doubtful(int shard, List<String> key, long hash, boolean isPlain) {}

    /** Searches for rows that the adoption did not bring. */
    void findOthers(ShardTables server, List<Long> transactions, Others others) throws SQLException {
        Array known = known(server, transactions);
        server.inParts(some -> Sql.inTransaction(server.connection(), () -> {
            sift(server, some, known, others, (shard, brought) -> {});
            return true;
        }));
    }

    /** Deletes the rows that the adoption brought, and reports all others. */
    void delete(ShardTables server, List<Long> transactions, Others others) throws SQLException {
        Array known = known(server, transactions);
        String ids = known.toString();
        server.inParts(some -> {
            server.change(
                    some,
                    "",
                    shard -> "DELETE FROM %s t WHERE %s"
                            .formatted(server.table(shard), isKnown(Sql.quote(ids) + "::bigint[]")));
            Sql.inTransaction(server.connection(), () -> {
                sift(server, some, known, others, (shard, brought) -> deleteEqual(server, shard, brought));
                return true;
            });
        });
    }

    private static Array known(ShardTables server, List<Long> transactions) throws SQLException {
        Connection connection = server.connection();
        // A row has the lower half of its transaction's number, which is used again after 2^32 transactions.
        List<Long> recent = Sql.list(
                connection,
                "SELECT x % 4294967296 FROM unnest(?::bigint[]) x, pg_snapshot_xmax(pg_current_snapshot()) now WHERE now::text::bigint - x BETWEEN 0 AND 2000000000",
                row -> row.getLong(1),
                connection.createArrayOf("bigint", transactions.toArray()));
        return connection.createArrayOf("bigint", recent.toArray());
    }

    private static String isKnown(String transactions) {
        return "t.xmin::text::bigint = ANY (%s)".formatted(transactions);
    }

    /** Work on a shard's rows that the adoption is found to have brought. */
    @FunctionalInterface
    private interface Brought {
        void rows(int shard, List<Doubtful> brought) throws SQLException;
    }

    private void sift(ShardTables server, List<Integer> some, Array known, Others others, Brought brought)
            throws SQLException {
        List<Doubtful> batch = new ArrayList<>();
        String sql = some.stream().map(shard -> doubtful(server, shard)).collect(joining(" UNION ALL "));
        String columns = String.join(" AND ", ownColumns(server, some.get(0)));
        try (PreparedStatement statement =
                server.connection().prepareStatement(sql.replace("%PLAIN%", columns.isEmpty() ? "true" : columns))) {
            statement.setFetchSize(ROWS_AT_A_TIME);
            for (int i = 1; i <= some.size(); i++) {
                statement.setArray(i, known);
            }
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    batch.add(new Doubtful(
                            row.getInt(1),
                            List.of((String[]) row.getArray(2).getArray()),
                            row.getLong(3),
                            row.getBoolean(4)));
                    if (batch.size() == ROWS_AT_A_TIME) {
                        decide(server, batch, others, brought);
                    }
                }
            }
        }
        decide(server, batch, others, brought);
    }

    private String doubtful(ShardTables server, int shard) {
        String key = primaryKey.stream()
                .map(column -> "t." + column.quoted() + "::text")
                .collect(joining(", "));
        return "SELECT %s, ARRAY[%s], %s, %%PLAIN%% FROM %s t WHERE NOT %s"
                .formatted(shard, key, rows.hash(), server.table(shard), isKnown("?"));
    }

    private List<String> ownColumns(ShardTables server, int shard) throws SQLException {
        Connection connection = server.connection();
        return Sql.list(
                connection,
                OWN_COLUMNS,
                row -> row.getString(1),
                server.table(shard),
                connection.createArrayOf("text", compared.toArray()));
    }

    private void decide(ShardTables server, List<Doubtful> batch, Others others, Brought brought) throws SQLException {
        if (batch.isEmpty()) {
            return;
        }
        Map<List<String>, OldTable.Hashed> wanted =
                old.hashes(batch.stream().map(Doubtful::key).toList(), primaryKey, rows);
        List<Doubtful> its = new ArrayList<>();
        for (Doubtful row : batch) {
            if (row.isPlain() && new OldTable.Hashed(row.shard(), row.hash()).equals(wanted.get(row.key()))) {
                its.add(row);
            } else {
                others.add(server.table(row.shard()), row.key());
            }
        }
        for (int shard : its.stream().mapToInt(Doubtful::shard).distinct().toArray()) {
            brought.rows(shard, its.stream().filter(row -> row.shard() == shard).toList());
        }
        batch.clear();
    }

    /** Deletes rows that have not changed since they were read. */
    private void deleteEqual(ShardTables server, int shard, List<Doubtful> brought) throws SQLException {
        String key = primaryKey.stream().map(column -> "t." + column.quoted()).collect(joining(", "));
        String keys = brought.stream()
                .map(row -> OldTable.literals(row.key(), primaryKey, column -> column.typeIn(Sharding.schema(shard))))
                .collect(joining(", "));
        String hashes = brought.stream().map(row -> Long.toString(row.hash())).collect(joining(","));
        Sql.execute(
                server.connection(),
                server.silence()
                        + "DELETE FROM %s t WHERE ROW(%s) IN (%s) AND %s = ANY ('{%s}'::bigint[])"
                                .formatted(server.table(shard), key, keys, rows.hash(), hashes));
    }
}
