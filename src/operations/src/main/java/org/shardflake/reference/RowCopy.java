/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyOut;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/** Compares the reference tables of two servers, and makes one server's rows equal to the other's by changing only rows that differ. */
final class RowCopy {

    private static final String COLUMNS = """
            SELECT quote_ident(a.attname), a.attnum = ANY (i.indkey), a.attidentity = 'a'
              FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
             WHERE a.attrelid = ?::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
            """;

    private static final String REFERS = """
            SELECT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND conrelid = ?::regclass AND confrelid = ?::regclass)
            """;

    private static final String UNIQUE_VIOLATION = "23505";

    /** Statements that drop and rebuild unique indexes, except those that foreign keys need. */
    private static final String UNIQUE = """
            SELECT CASE WHEN k.oid IS NULL THEN format('DROP INDEX %I.%I', n.nspname, c.relname)
                        ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', i.indrelid::regclass, k.conname) END,
                   CASE WHEN k.oid IS NULL THEN pg_get_indexdef(i.indexrelid)
                        ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', i.indrelid::regclass, k.conname, pg_get_constraintdef(k.oid)) END
              FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
              LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'u'
             WHERE i.indrelid = ?::regclass AND i.indisunique AND NOT i.indisprimary AND NOT i.indisreplident
               AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND f.conindid = i.indexrelid)
            """;

    private final Connection from;
    private final Connection to;

    /** A comparison over two connections in transactions that the caller ends. */
    RowCopy(Connection from, Connection to) {
        this.from = from;
        this.to = to;
    }

    /** A table whose rows differ, if any. */
    Optional<String> difference(List<String> tables) throws SQLException {
        for (String table : tables) {
            Rows rows = Rows.of(from, to, table);
            if (!rows.digest(from).equals(rows.digest(to))) {
                return Optional.of(table);
            }
        }
        return Optional.empty();
    }

    /** Makes the rows equal, and returns how many rows were changed. */
    long copy(List<String> tables) throws SQLException {
        List<String> parentsFirst = parentsFirst(tables);
        List<Table> read = new ArrayList<>();
        for (String table : parentsFirst) {
            read.add(read(table, read.size()));
        }
        long changed = 0;
        for (int i = read.size() - 1; i >= 0; i--) {
            changed += Sql.update(to, read.get(i).deleteSql());
        }
        for (Table table : read) {
            changed += write(table);
        }
        return changed;
    }

    /** Writes the differing rows; when two have exchanged a unique value, unique indexes are dropped first and built afterwards. */
    private long write(Table table) throws SQLException {
        Savepoint before = to.setSavepoint();
        try {
            return writeRows(table);
        } catch (SQLException e) {
            if (!UNIQUE_VIOLATION.equals(e.getSQLState())) {
                throw e;
            }
            to.rollback(before);
        }
        List<UniqueIndex> indexes =
                Sql.list(to, UNIQUE, row -> new UniqueIndex(row.getString(1), row.getString(2)), table.name());
        for (UniqueIndex index : indexes) {
            Sql.execute(to, index.drop());
        }
        long changed = writeRows(table);
        for (UniqueIndex index : indexes) {
            Sql.execute(to, index.build());
        }
        return changed;
    }

    private long writeRows(Table table) throws SQLException {
        long changed = 0;
        for (String sql : table.writeSql()) {
            changed += Sql.update(to, sql);
        }
        return changed;
    }

    private List<String> parentsFirst(List<String> tables) throws SQLException {
        List<String> left = new ArrayList<>(tables);
        List<String> ordered = new ArrayList<>();
        while (!left.isEmpty()) {
            String next = left.get(0); // if they refer to each other in a circle
            for (String table : left) {
                if (refersToNone(table, left)) {
                    next = table;
                    break;
                }
            }
            ordered.add(next);
            left.remove(next);
        }
        return ordered;
    }

    private boolean refersToNone(String table, List<String> others) throws SQLException {
        for (String other : others) {
            if (!other.equals(table) && Sql.isTrue(to, REFERS, table, other)) {
                return false;
            }
        }
        return true;
    }

    private record UniqueIndex(String drop, String build) {}

    private record Column(String name, boolean isKey, boolean isGenerated) {}

    /** A table, with the other server's rows in a temporary table here. */
    private record Table(String name, String rows, List<Column> columns) {

        private String same() {
            return columns.stream()
                    .filter(Column::isKey)
                    .map(column -> "t.%1$s = x.%1$s".formatted(column.name()))
                    .collect(Collectors.joining(" AND "));
        }

        private String list(String prefix, boolean all) {
            return columns.stream()
                    .filter(column -> all || (!column.isKey() && !column.isGenerated()))
                    .map(column -> prefix + column.name())
                    .collect(Collectors.joining(", "));
        }

        String deleteSql() {
            return "DELETE FROM %s t WHERE NOT EXISTS (SELECT FROM %s x WHERE %s)".formatted(name, rows, same());
        }

        List<String> writeSql() {
            String insert =
                    "INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s x WHERE NOT EXISTS (SELECT FROM %s t WHERE %s)"
                            .formatted(name, list("", true), list("x.", true), rows, name, same());
            if (list("", false).isEmpty()) {
                return List.of(insert);
            }
            return List.of(
                    "UPDATE %s t SET (%s) = ROW(%s) FROM %s x WHERE %s AND ROW(%s)::text IS DISTINCT FROM ROW(%s)::text"
                            .formatted(
                                    name,
                                    list("", false),
                                    list("x.", false),
                                    rows,
                                    same(),
                                    list("t.", false),
                                    list("x.", false)),
                    insert);
        }
    }

    private Table read(String name, int number) throws SQLException {
        List<Column> columns =
                Sql.list(to, COLUMNS, row -> new Column(row.getString(1), row.getBoolean(2), row.getBoolean(3)), name);
        Table table = new Table(name, "pg_temp.shardflake_rows_" + number, columns);
        String all = table.list("", true);
        Sql.execute(
                to,
                "CREATE TEMPORARY TABLE shardflake_rows_%s ON COMMIT DROP AS SELECT %s FROM %s WITH NO DATA"
                        .formatted(number, all, name));
        transfer(from, "SELECT %s FROM %s".formatted(all, name), to, "%s (%s)".formatted(table.rows(), all));
        return table;
    }

    /** Inserts the result of a query on one server, with its columns, into a table on another. */
    static void transfer(Connection from, String query, Connection to, String table) throws SQLException {
        if (from == to) { // A connection copies in one direction at a time.
            Sql.execute(to, "INSERT INTO %s OVERRIDING SYSTEM VALUE %s".formatted(table, query));
            return;
        }
        CopyOut rows = from.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (%s) TO STDOUT".formatted(query));
        try (Sql.Ending endOfRows = () -> Sql.cancel(from, rows)) {
            CopyIn copy = to.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY %s FROM STDIN".formatted(table));
            try (Sql.Ending endOfCopy = () -> Sql.cancel(copy)) {
                for (byte[] row = rows.readFromCopy(); row != null; row = rows.readFromCopy()) {
                    copy.writeToCopy(row, 0, row.length);
                }
                copy.endCopy();
            }
        }
    }
}
