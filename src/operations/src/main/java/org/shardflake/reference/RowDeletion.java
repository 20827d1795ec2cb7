/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;

/**
 * Deletes a row of a reference table on all servers, unless a row of a shard refers to it.
 *
 * <p>It is deleted in a transaction on each server, where the foreign keys of the server's shards are checked, and nobody can refer to it
 * while they are open. The others commit first and the home last. A crash in between leaves a row that only some servers have, to which
 * new rows can refer there: so the catalog has what was begun, and the same command deletes the row everywhere, or puts it back where it
 * is gone if it is referred to. What the home replicates then, the deletion of a row that is gone, PostgreSQL skips.
 */
final class RowDeletion {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String FOREIGN_KEY_VIOLATION = "23503";

    private static final String KEY = """
            SELECT quote_ident(a.attname), format_type(a.atttypid, a.atttypmod)
              FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, position)
              JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE i.indrelid = ?::regclass AND i.indisprimary ORDER BY k.position
            """;

    private static final String COLUMNS = """
            SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
             WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
            """;

    /** Finds foreign keys to the table, or a partition of it, that change rows themselves. */
    private static final String CHANGING = """
            SELECT format('%I.%I', n.nspname, c.relname)
              FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE k.contype = 'f' AND k.confdeltype NOT IN ('a', 'r')
               AND k.confrelid IN (SELECT ?::regclass UNION SELECT relid FROM pg_partition_tree(?::regclass))
             ORDER BY 1 LIMIT 1
            """;

    private record KeyColumn(String name, String type) {}

    private final ReferenceSession session;
    private final ReferenceServer from;
    private final List<ReferenceStream> streams;
    private final String table;
    private final List<String> key;
    private final String where;
    private boolean isRecorded;
    /** Whether no earlier run can have deleted the row on any server. */
    private boolean isNew;

    /** @throws ShardflakeException if there is no such table, or the key is not like its primary key */
    RowDeletion(ReferenceSession session, Home home, String tableName, List<String> key) throws SQLException {
        this.session = session;
        this.from = session.server(home.server());
        this.streams = session.streams(home.server(), home.tag());
        this.table = from.table(tableName);
        List<KeyColumn> columns =
                Sql.list(from.control(), KEY, row -> new KeyColumn(row.getString(1), row.getString(2)), table);
        this.key = canonical(columns, key);
        this.where = columns.stream()
                .map(column -> "%s = ?::%s".formatted(column.name(), column.type()))
                .collect(Collectors.joining(" AND "));
    }

    /** The key in PostgreSQL's own form: 1 and 01 are the same record in the catalog. */
    private List<String> canonical(List<KeyColumn> columns, List<String> key) throws SQLException {
        if (columns.size() != key.size()) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "the key of %s has %s columns, and %s values are given"
                            .formatted(table, columns.size(), key.size()),
                    "give %s".formatted(columns.stream().map(KeyColumn::name).collect(Collectors.joining(" "))),
                    null);
        }
        List<String> canonical = new ArrayList<>();
        for (int i = 0; i < columns.size(); i++) {
            canonical.add(canonical(columns.get(i), key.get(i)));
        }
        return canonical;
    }

    private String canonical(KeyColumn column, String value) throws SQLException {
        try {
            return Sql.text(from.control(), "SELECT (?::%s)::text".formatted(column.type()), value);
        } catch (SQLException e) {
            if (Sql.isOutage(e)) {
                throw e;
            }
            throw new ShardflakeException(
                    Kind.USAGE,
                    "%s of %s is of type %s: %s".formatted(column.name(), table, column.type(), Sql.message(e)),
                    null,
                    e);
        }
    }

    void run() throws SQLException {
        List<String> references = prepare();
        try {
            if (!references.isEmpty()) {
                session.rollback();
                takeBack();
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "row %s of %s is referred to by %s; it was not deleted"
                                .formatted(String.join(" ", key), table, String.join(", ", references)),
                        "let those rows refer to another one, and run the same command again",
                        null);
            }
            commit();
            session.catalog().endDelete(table, key);
        } finally {
            session.rollback();
        }
    }

    /** Deletes the row in open transactions, and returns the rows that refer to it. Gives way to whoever has its locks. */
    private List<String> prepare() throws SQLException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try {
                begin();
                return delete();
            } catch (SQLException | RuntimeException e) {
                session.rollback();
                boolean isInTheWay = e instanceof SQLException sql && Sql.isInTheWay(sql);
                if (!isInTheWay) {
                    forget(e);
                    throw e;
                }
                if (System.nanoTime() - end > 0) {
                    ShardflakeException failure = new ShardflakeException(
                            Kind.FAILURE,
                            "row %s of %s is in use by transactions that do not end; it was not deleted"
                                    .formatted(String.join(" ", key), table),
                            "end them, or run the same command again later",
                            e);
                    forget(failure);
                    throw failure;
                }
            }
        }
    }

    /** Undoes a delete that failed, if it was recorded. If that fails, the catalog has it still, so the same command can be run again. */
    private void forget(Exception failure) {
        if (isRecorded) {
            try {
                takeBack();
            } catch (SQLException | RuntimeException e) {
                failure.addSuppressed(e);
            }
        }
    }

    /** Restores the row where an earlier run has deleted it, and removes the record, before anything is committed. */
    private void takeBack() throws SQLException {
        if (!isNew) {
            putBack();
        }
        session.catalog().endDelete(table, key);
    }

    private void commit() {
        try {
            for (ReferenceStream stream : streams) {
                stream.copy().commit();
            }
            from.commit();
        } catch (SQLException e) {
            throw new ShardflakeException(
                    Kind.FAILURE,
                    "a server failed while row %s of %s was deleted: %s"
                            .formatted(String.join(" ", key), table, Sql.message(e)),
                    "run the same command again, which finishes it or puts the row back",
                    e);
        }
    }

    /** Locks out writers, waits until all servers have received their writes, and records the delete. */
    private void begin() throws SQLException {
        long version = ReferenceSession.hold(from, List.of(table));
        for (ReferenceStream stream : streams) {
            ReferenceSession.awaitVersion(stream, version);
        }
        if (Sql.list(
                        from.work(),
                        "SELECT 1 FROM %s WHERE %s FOR UPDATE".formatted(table, where),
                        row -> 1,
                        parameters())
                .isEmpty()) {
            // Also of a command that was interrupted at its very end.
            session.catalog().endDelete(table, key);
            throw new ShardflakeException(
                    Kind.PRECONDITION, "%s has no row %s".formatted(table, String.join(" ", key)), null, null);
        }
        for (ReferenceStream stream : streams) {
            ReferenceSession.join(stream.copy(), List.of(table));
        }
        isNew |= session.catalog().beginDelete(table, key);
        isRecorded = true;
    }

    /** Deletes the row in the transactions, and returns the rows that refer to it. */
    private List<String> delete() throws SQLException {
        List<String> references = new ArrayList<>();
        Sql.call(from.work(), "SELECT shardflake.next_reference_version()");
        delete(from, "home", references);
        for (ReferenceStream stream : streams) {
            delete(stream.copy(), "copy", references);
        }
        return references;
    }

    private void delete(ReferenceServer server, String mode, List<String> references) throws SQLException {
        refuseForeignKeysThatChangeRows(server);
        server.unguard(List.of(table));
        try {
            Sql.update(server.work(), "DELETE FROM %s WHERE %s".formatted(table, where), parameters());
            Sql.execute(server.work(), "SET CONSTRAINTS ALL IMMEDIATE");
            server.guard(List.of(table), mode, from.name());
        } catch (SQLException e) {
            if (!FOREIGN_KEY_VIOLATION.equals(e.getSQLState())) {
                throw e;
            }
            references.add("%s on %s".formatted(referring(e), server.name()));
        }
    }

    /** Refuses foreign keys that would delete rows of shards along with the row. The transaction's lock keeps others from adding one. */
    private void refuseForeignKeysThatChangeRows(ReferenceServer server) throws SQLException {
        List<String> changing = Sql.list(server.work(), CHANGING, row -> row.getString(1), table, table);
        if (!changing.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "a foreign key of %s on %s would delete or change its rows together with a row of %s; it was not deleted"
                            .formatted(changing.get(0), server.name(), table),
                    "let foreign keys to reference tables be ON DELETE NO ACTION or RESTRICT, and run the same command again",
                    null);
        }
    }

    private static String referring(SQLException e) {
        ServerErrorMessage said = e instanceof PSQLException its ? its.getServerErrorMessage() : null;
        if (said == null || !String.valueOf(said.getSchema()).startsWith("shard_")) {
            return Sql.message(e); // Another reference table, for example.
        }
        return said.getSchema() + "." + said.getTable();
    }

    /** Restores the row on servers where an interrupted run has deleted it. */
    private void putBack() throws SQLException {
        try {
            ReferenceSession.hold(from, List.of(table));
            String columns = Sql.text(from.control(), COLUMNS, table);
            String row =
                    Sql.text(from.work(), "SELECT t::text FROM %s t WHERE %s".formatted(table, where), parameters());
            for (ReferenceStream stream : streams) {
                ReferenceServer copy = stream.copy();
                if (!hasRow(copy.control())) {
                    ReferenceSession.join(copy, List.of(table));
                    copy.unguard(List.of(table));
                    Sql.update(
                            copy.work(),
                            "INSERT INTO %1$s (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM (SELECT (?::%1$s).*) r"
                                    .formatted(table, columns),
                            row);
                    copy.guard(List.of(table), "copy", from.name());
                    copy.commit();
                }
            }
        } finally {
            session.rollback();
        }
    }

    private boolean hasRow(Connection connection) throws SQLException {
        return Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM %s WHERE %s)".formatted(table, where), parameters());
    }

    private Object[] parameters() {
        return key.toArray();
    }
}
