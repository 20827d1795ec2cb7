/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyOut;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/** The rows of the adopted table, read with the shard of each. */
final class OldTable {

    private final Connection connection;
    private final TableFacts table;
    private final KeyExpression key;
    private final List<Column> columns;

    /** @param columns the columns that are brought over */
    OldTable(Connection connection, TableFacts table, KeyExpression key, List<Column> columns) {
        this.connection = connection;
        this.table = table;
        this.key = key;
        this.columns = columns;
    }

    /**
     * A run of rows in primary key order.
     *
     * @param end the primary key of the last row, as text
     * @param isLast whether no rows follow
     */
    record Batch(List<String> end, boolean isLast) {}

    /** Receives a row: its shard, and its line of COPY for the stage. */
    @FunctionalInterface
    interface RowReceiver {
        void row(int shard, byte[] line) throws SQLException;
    }

    /** Returns up to this many rows after a primary key; null if there are none. */
    @Nullable
    Batch nextBatch(@Nullable List<String> after, int rows) throws SQLException {
        String primaryKey = table.keyOf("t");
        String batch = "SELECT %s FROM ONLY %s t %s ORDER BY %s LIMIT %s"
                .formatted(
                        primaryKey,
                        table.name(),
                        after == null ? "" : "WHERE ROW(%s) > %s".formatted(primaryKey, row(after)),
                        primaryKey,
                        rows);
        String last = "SELECT ARRAY[%s], count(*) OVER () FROM (%s) t ORDER BY %s LIMIT 1"
                .formatted(keyParts("%s::text"), batch, keyParts("%s DESC"));
        List<Batch> found = Sql.list(
                connection,
                last,
                end -> new Batch(List.of((String[]) end.getArray(1).getArray()), end.getLong(2) < rows));
        return found.isEmpty() ? null : found.get(0);
    }

    private String keyParts(String format) {
        return table.primaryKey().stream()
                .map(name ->
                        format.formatted("t." + table.column(name).orElseThrow().quoted()))
                .collect(joining(", "));
    }

    /** Reads the rows after one primary key up to another, and returns how many there were. */
    long read(@Nullable List<String> after, List<String> upTo, RowReceiver rows) throws SQLException {
        String primaryKey = table.keyOf("t");
        String from = after == null ? "" : "ROW(%s) > %s AND ".formatted(primaryKey, row(after));
        return copyOut(rowsWhere("%sROW(%s) <= %s".formatted(from, primaryKey, row(upTo))), rows);
    }

    private String row(List<String> values) {
        List<Column> primaryKey = table.primaryKey().stream()
                .map(name -> table.column(name).orElseThrow())
                .toList();
        return literals(values, primaryKey, Column::type);
    }

    private String rowsWhere(String condition) {
        String names = columns.stream().map(column -> "t." + column.quoted()).collect(joining(", "));
        return "SELECT %s, false, %s FROM ONLY %s t WHERE %s".formatted(key.of("t"), names, table.name(), condition);
    }

    /**
     * Takes some recorded changes out of the journal, within the connection's transaction, and reads the current state of their rows:
     * those gone from a shard, and those present in it. Returns how many changes.
     */
    long takeChanges(Adoption adoption, long limit, RowReceiver rows) throws SQLException {
        String changes = ChangeJournal.SCHEMA + ".changes_" + adoption.id();
        String primaryKey = table.keyOf("c");
        Sql.execute(connection, "DROP TABLE IF EXISTS pg_temp.shardflake_taken");
        Sql.execute(connection, """
                CREATE TEMP TABLE shardflake_taken ON COMMIT DROP AS SELECT c.shardflake_shard, %s FROM %s c WITH NO DATA
                """.formatted(primaryKey, changes));
        long taken = Sql.number(connection, """
                WITH taken AS (DELETE FROM %1$s WHERE shardflake_change IN
                                  (SELECT shardflake_change FROM %1$s ORDER BY shardflake_change LIMIT %2$s) RETURNING *),
                     kept AS (INSERT INTO pg_temp.shardflake_taken SELECT DISTINCT c.shardflake_shard, %3$s FROM taken c)
                SELECT count(*) FROM taken
                """.formatted(changes, limit, primaryKey));
        if (taken > 0) {
            Sql.execute(connection, "ANALYZE pg_temp.shardflake_taken");
            copyOut(gone(primaryKey), rows);
            copyOut(
                    rowsWhere("(%s) IN (SELECT %s FROM pg_temp.shardflake_taken c)"
                            .formatted(table.keyOf("t"), primaryKey)),
                    rows);
        }
        return taken;
    }

    /** The number of changes in the journal. */
    long notedChanges(Adoption adoption) throws SQLException {
        return Sql.number(
                connection, "SELECT count(*) FROM %s.changes_%s".formatted(ChangeJournal.SCHEMA, adoption.id()));
    }

    private String gone(String primaryKey) {
        String names = columns.stream()
                .map(column -> table.primaryKey().contains(column.name()) ? "c." + column.quoted() : "NULL")
                .collect(joining(", "));
        return """
                SELECT c.shardflake_shard, true, %s FROM pg_temp.shardflake_taken c
                 WHERE c.shardflake_shard IS NOT NULL
                   AND NOT EXISTS (SELECT FROM ONLY %s t WHERE (%s) = (%s) AND %s = c.shardflake_shard)
                """.formatted(names, table.name(), table.keyOf("t"), primaryKey, key.of("t"));
    }

    private long copyOut(String query, RowReceiver rows) throws SQLException {
        CopyOut out =
                connection.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (%s) TO STDOUT".formatted(query));
        try (Sql.Ending ending = () -> cancel(out)) {
            for (byte[] line = out.readFromCopy(); line != null; line = out.readFromCopy()) {
                rows.row(shard(line), line);
            }
            return out.getHandledRowCount();
        }
    }

    private static void cancel(CopyOut out) throws SQLException {
        if (out.isActive()) {
            out.cancelCopy();
        }
    }

    /** The first field of a line. */
    private int shard(byte[] line) {
        int shard = 0;
        for (byte digit : line) {
            if (digit == '\t') {
                return shard;
            }
            if (digit == '\\') {
                throw new AdoptException("a row of %s has no %s: it is null"
                        .formatted(table.name(), key.key().name()));
            }
            shard = 10 * shard + digit - '0';
        }
        throw new IllegalStateException("a line of COPY without a field");
    }

    /** The shard and the hash of a row. */
    record Hashed(int shard, long hash) {}

    /**
     * The rows with these primary keys, by primary key; those that are gone are left out.
     *
     * @param primaryKey the columns in the shards, whose types may be wider
     */
    Map<List<String>, Hashed> hashes(List<List<String>> keys, List<Column> primaryKey, Rows rows) throws SQLException {
        Map<String, Column> own = new HashMap<>();
        table.columns().forEach(column -> own.put(column.name(), column));
        String wanted = keys.stream()
                .map(one -> literals(one, primaryKey, column -> {
                    Column mine = Objects.requireNonNull(own.get(column.name()));
                    return mine.identity().equals(column.identity()) ? mine.type() : column.type();
                }))
                .collect(joining(", "));
        String sql = "SELECT ARRAY[%s], %s, %s FROM ONLY %s t WHERE ROW(%s) IN (%s)"
                .formatted(keyParts("%s::text"), key.of("t"), rows.hash(), table.name(), table.keyOf("t"), wanted);
        Map<List<String>, Hashed> found = new HashMap<>();
        Sql.list(
                connection,
                sql,
                row -> found.put(
                        List.of((String[]) row.getArray(1).getArray()), new Hashed(row.getInt(2), row.getLong(3))));
        return found;
    }

    /** A row of SQL that has these values, given as text. */
    static String literals(List<String> values, List<Column> columns, Function<Column, String> type) {
        List<String> literals = new ArrayList<>();
        for (int i = 0; i < values.size(); i++) {
            literals.add(Sql.quote(values.get(i)) + "::" + type.apply(columns.get(i)));
        }
        return "ROW(%s)".formatted(String.join(", ", literals));
    }

    /** Count and hash of the rows of each shard. */
    Map<Integer, Rows.Digest> digests(Rows rows) throws SQLException {
        Map<Integer, Rows.Digest> digests = new HashMap<>();
        String all = rows.digestsBy(key.of("t"), "ONLY " + table.name() + " t") + " GROUP BY 1";
        Sql.list(connection, all, row -> digests.put(row.getInt(1), new Rows.Digest(row.getLong(2), row.getString(3))));
        return digests;
    }
}
