/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.Sharding;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;

/**
 * The columns of a lookup's table, in the shards of one server where they are the same.
 *
 * @param columns their names; none if there is no such table
 * @param integers those that can hold a uid or an id
 */
record SourceColumns(String server, ShardSet shards, List<String> columns, List<String> integers) {

    private enum Part {
        TABLE,
        COLUMN,
        UID_COLUMN,
        ID_COLUMN
    }

    private static final String COLUMNS = """
            SELECT array_agg(right(schema, 4)::integer), columns, integers
              FROM (SELECT s.schema, COALESCE(array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attnum IS NOT NULL), '{}') AS columns,
                           COALESCE(array_agg(a.attname::text ORDER BY a.attnum)
                               FILTER (WHERE a.atttypid IN ('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)), '{}') AS integers
                      FROM unnest(?::text[]) s (schema)
                      LEFT JOIN pg_namespace n ON n.nspname = s.schema
                      LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = ? AND c.relkind IN ('r', 'p', 'v', 'f')
                      LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                     GROUP BY 1) each
             GROUP BY 2, 3 ORDER BY min(schema)
            """;

    private static final String KEY = """
            SELECT a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
             WHERE c.relnamespace = to_regnamespace(?) AND c.relname = ?
               AND a.atttypid IN ('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)
               AND col_description(c.oid, a.attnum) ~* '^shard key\\M'
            """;

    /** The column with the key, as its comment in the first of these shards says. */
    static Optional<String> key(Connection connection, ShardSet shards, String table) throws SQLException {
        String schema = Sharding.schema(shards.stream().findFirst().orElseThrow());
        return Sql.list(connection, KEY, row -> row.getString(1), schema, table).stream()
                .findFirst();
    }

    static List<SourceColumns> read(Connection connection, String server, ShardSet shards, String table)
            throws SQLException {
        return Sql.list(
                connection,
                COLUMNS,
                row -> new SourceColumns(
                        server,
                        ShardSet.of(List.of((Integer[]) row.getArray(1).getArray())),
                        List.of((String[]) row.getArray(2).getArray()),
                        List.of((String[]) row.getArray(3).getArray())),
                shards,
                table);
    }

    /**
     * Requires that all shards have the table and its columns.
     *
     * @throws ShardflakeException if one lacks them
     */
    static void require(LookupDefinition.Source source, List<DeployTarget> targets) throws SQLException {
        List<SourceColumns> all = new ArrayList<>();
        for (DeployTarget target : targets) {
            all.addAll(Sql.with(
                    target.url().connect("shardflake lookup"),
                    connection -> read(connection, target.server(), target.shards(), source.table())));
        }
        all.sort(Comparator.comparing(one -> one.columns().isEmpty())); // The first says what can be named.
        for (Part part : Part.values()) {
            require(source, part, all);
        }
    }

    private static void require(LookupDefinition.Source source, Part part, List<SourceColumns> all) {
        List<SourceColumns> lacking =
                all.stream().filter(one -> !one.suffices(source, part)).toList();
        if (lacking.size() == all.size()) {
            boolean isTable = part == Part.TABLE;
            throw new ShardflakeException(
                    Kind.USAGE,
                    isTable
                            ? "there is no %s in the shards".formatted(what(source, part))
                            : "table %s has no %s".formatted(source.table(), what(source, part)),
                    isTable
                            ? "name the table, or make it without a source for values that no column holds"
                            : "name one of " + String.join(", ", all.get(0).fitting(part)),
                    null);
        }
        if (!lacking.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "%s; nothing was changed".formatted(lacks(source, part, lacking)),
                    Advice.of(
                            "%s names the shards that a changelog has not reached, and those that were changed otherwise",
                            CliCommand.SCHEMA_STATUS),
                    null);
        }
    }

    /** A description of the shards that lack the table or a column that others have, if any. */
    static Optional<String> lacks(LookupDefinition.Source source, List<SourceColumns> all) {
        for (Part part : Part.values()) {
            List<SourceColumns> lacking =
                    all.stream().filter(one -> !one.suffices(source, part)).toList();
            if (!lacking.isEmpty()) {
                return Optional.of(lacks(source, part, lacking));
            }
        }
        return Optional.empty();
    }

    private static String lacks(LookupDefinition.Source source, Part part, List<SourceColumns> lacking) {
        boolean isOneShard =
                lacking.stream().mapToInt(one -> one.shards().size()).sum() == 1;
        return "%s %s %s%s"
                .formatted(
                        lacking.stream()
                                .map(one -> "%s on %s".formatted(Plural.shards(one.shards()), one.server()))
                                .collect(Collectors.joining(", ")),
                        isOneShard ? "lacks" : "lack",
                        what(source, part),
                        part == Part.TABLE ? "" : " of table " + source.table());
    }

    private static String what(LookupDefinition.Source source, Part part) {
        return switch (part) {
            case TABLE -> "table " + source.table();
            case COLUMN -> "column " + source.column();
            case UID_COLUMN -> "integer column " + source.uidColumn();
            case ID_COLUMN -> "integer column " + source.idColumn();
        };
    }

    private boolean suffices(LookupDefinition.Source source, Part part) {
        return switch (part) {
            case TABLE -> !columns.isEmpty();
            case COLUMN -> columns.contains(source.column());
            case UID_COLUMN -> integers.contains(source.uidColumn());
            case ID_COLUMN -> integers.contains(source.idColumn());
        };
    }

    private List<String> fitting(Part part) {
        return part == Part.COLUMN ? columns : integers;
    }
}
