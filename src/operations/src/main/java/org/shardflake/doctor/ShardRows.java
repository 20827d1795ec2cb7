/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.ShardSet;
import org.shardflake.compare.DifferenceSearch;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;

/** Examines the copies of shards that have several. For one thread. */
final class ShardRows {

    /** The size beyond which copies are left for a person to compare. */
    private static final long COMPARABLE_BYTES = 64L << 20;

    private static final long COUNTED = 100_000;

    private static final String TABLES = """
            SELECT format('%I.%I', n.nspname, c.relname), pg_table_size(c.oid),
                   (SELECT quote_ident(a.attname) FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
                     WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1 AND a.atttypid = 'bigint'::regtype)
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = ANY (?) AND c.relkind IN ('r', 'm') ORDER BY c.relname COLLATE "C"
            """;

    private record Table(String name, long bytes, String id) {}

    private record Copy(String server, int shard) {}

    private final DoctorConnections access;
    private final Map<Copy, Boolean> withRows = new HashMap<>();

    ShardRows(DoctorConnections access) {
        this.access = access;
    }

    /** Whether any table of a copy has a row. */
    boolean hasRows(String server, int shard) throws SQLException {
        Copy copy = new Copy(server, shard);
        Boolean known = withRows.get(copy);
        if (known == null) {
            known = read(server, connection -> {
                for (Table table : tables(connection, shard)) {
                    if (Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM %s)".formatted(table.name()))) {
                        return true;
                    }
                }
                return false;
            });
            withRows.put(copy, known);
        }
        return known;
    }

    /** A description of a copy: its number of rows, and the time of its newest id. */
    String describe(String server, int shard) throws SQLException {
        return read(server, connection -> {
            long rows = 0;
            long newest = -1;
            for (Table table : tables(connection, shard)) {
                rows += Sql.number(
                        connection,
                        "SELECT count(*) FROM (SELECT FROM %s LIMIT %s) t".formatted(table.name(), COUNTED));
                if (!table.id().isEmpty()) {
                    newest = Math.max(
                            newest,
                            Sql.number(
                                    connection,
                                    "SELECT COALESCE(max(id), -1) FROM (SELECT max(%s) AS id FROM %s) t WHERE shardflake.id_shard(id) = ?"
                                            .formatted(table.id(), table.name()),
                                    shard));
                }
            }
            String time = newest < 0
                    ? ""
                    : ", the newest id of "
                            + Sql.text(
                                    connection,
                                    "SELECT to_char(shardflake.id_timestamp(?) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')",
                                    newest);
            return (rows >= COUNTED ? "at least " : "") + Plural.of(rows, "row") + time;
        });
    }

    /** Whether another server has every row of a closed copy, unchanged; false if unknown. */
    boolean hasAllOf(String copy, String owner, int shard) throws SQLException {
        return read(
                copy,
                from -> read(owner, to -> {
                    List<Table> tables = tables(from, shard);
                    if (tables.stream().mapToLong(Table::bytes).sum() > COMPARABLE_BYTES) {
                        return false;
                    }
                    Rows.prepare(from);
                    Rows.prepare(to);
                    try {
                        for (Table table : tables) {
                            if (!isContained(from, to, table.name())) {
                                return false;
                            }
                        }
                        return true;
                    } catch (SQLException e) {
                        if (Sql.isOutage(e)) {
                            throw e;
                        }
                        return false; // Their tables differ.
                    }
                }));
    }

    private static boolean isContained(Connection copy, Connection owner, String table) throws SQLException {
        Rows rows = Rows.of(copy, owner, table);
        if (rows.digest(copy).equals(rows.digest(owner))) {
            return true;
        }
        return new DifferenceSearch(copy, owner, rows)
                .run(some -> some.stream().allMatch(row -> row.leader() == null))
                .isEmpty();
    }

    private static List<Table> tables(Connection connection, int shard) throws SQLException {
        return Sql.list(
                connection,
                TABLES,
                row -> new Table(row.getString(1), row.getLong(2), row.getString(3) == null ? "" : row.getString(3)),
                ShardSet.of(shard));
    }

    @FunctionalInterface
    private interface Look<T> {
        T at(Connection connection) throws SQLException;
    }

    private <T> T read(String server, Look<T> look) throws SQLException {
        List<T> seen = new ArrayList<>(1);
        access.onServer(server, connection -> seen.add(look.at(connection)));
        return seen.get(0);
    }
}
