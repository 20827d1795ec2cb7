/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.SqlText;

/**
 * A table that all shards have, as a gateway shows it.
 *
 * @param columns in their order
 */
record ShardTable(String name, List<Column> columns) {

    /**
     * A column of a shard's table.
     *
     * @param type one that every PostgreSQL has: of a domain the type beneath, and text for types of the application
     * @param isCast whether the shard's type is another
     */
    record Column(String name, String type, boolean isCast) {

        String expression() {
            return isCast ? "CAST(%s AS %s)".formatted(SqlText.name(name), type) : SqlText.name(name);
        }
    }

    private static final String COLUMNS = """
            SELECT c.relname, a.attname,
                   CASE WHEN b.typnamespace = 'pg_catalog'::regnamespace
                        THEN format_type(b.oid, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END) ELSE 'text' END,
                   t.typnamespace <> 'pg_catalog'::regnamespace
              FROM pg_class c
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
              JOIN pg_type t ON t.oid = a.atttypid
              JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
             WHERE c.relnamespace = ?::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname NOT LIKE 'shardflake\\_%'
             ORDER BY c.relname COLLATE "C", a.attnum
            """;

    /** The tables of one shard. */
    static List<ShardTable> of(Connection connection, int shard) throws SQLException {
        Map<String, List<Column>> tables = new LinkedHashMap<>();
        Sql.list(
                connection,
                COLUMNS,
                row -> tables.computeIfAbsent(row.getString(1), name -> new ArrayList<>())
                        .add(new Column(row.getString(2), row.getString(3), row.getBoolean(4))),
                Sharding.schema(shard));
        List<ShardTable> all = new ArrayList<>();
        tables.forEach((name, columns) -> all.add(new ShardTable(name, columns)));
        return all;
    }

    /** The name of the column that holds the shard. */
    String shardColumn() {
        String name = "shard";
        for (int i = 0; isTaken(name); i++) {
            name = "shard_number" + "_".repeat(i);
        }
        return name;
    }

    private boolean isTaken(String name) {
        return columns.stream().anyMatch(column -> column.name().equals(name));
    }

    /** The columns of the gateway's table, the shard's number first. */
    String definition() {
        return columns.stream()
                .map(column -> ", " + SqlText.name(column.name()) + " " + column.type())
                .collect(Collectors.joining("", shardColumn() + " integer", ""));
    }

    /** A query for the table's rows in one shard. */
    String rowsOf(int shard) {
        return columns.stream()
                .map(column -> ", " + column.expression())
                .collect(Collectors.joining(
                        "", "SELECT " + shard, " FROM %s.%s".formatted(Sharding.schema(shard), SqlText.name(name))));
    }
}
