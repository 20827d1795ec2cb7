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
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.jdbc.Sql;

/**
 * The columns of a lookup's table, in some shards of one server that have the same.
 *
 * @param columns their names; none if there is no such table
 * @param integers those that can hold a uid or an id
 */
record SourceColumns(String server, ShardSet shards, List<String> columns, List<String> integers) {

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
        for (String option : List.of("--table", "--column", "--uid-column", "--id-column")) {
            require(source, option, all);
        }
    }

    private static void require(LookupDefinition.Source source, String option, List<SourceColumns> all) {
        List<SourceColumns> lacking =
                all.stream().filter(one -> !one.suffices(source, option)).toList();
        if (lacking.size() == all.size()) {
            boolean isTable = option.equals("--table");
            throw new ShardflakeException(
                    Kind.USAGE,
                    isTable
                            ? "there is no %s in the shards".formatted(what(source, option))
                            : "table %s has no %s".formatted(source.table(), what(source, option)),
                    isTable
                            ? "name the table with --table, or give --no-source for values that no column holds"
                            : "name it with %s: one of %s"
                                    .formatted(
                                            option, String.join(", ", all.get(0).fitting(option))),
                    null);
        }
        if (!lacking.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "%s; nothing was changed".formatted(lacks(source, option, lacking)),
                    "shardflake schema status names the shards that a changelog has not reached, and those that were changed otherwise",
                    null);
        }
    }

    /** The shards that lack the table or a column that others have; empty if there are none. */
    static Optional<String> lacks(LookupDefinition.Source source, List<SourceColumns> all) {
        for (String option : List.of("--table", "--column", "--uid-column", "--id-column")) {
            List<SourceColumns> lacking =
                    all.stream().filter(one -> !one.suffices(source, option)).toList();
            if (!lacking.isEmpty()) {
                return Optional.of(lacks(source, option, lacking));
            }
        }
        return Optional.empty();
    }

    private static String lacks(LookupDefinition.Source source, String option, List<SourceColumns> lacking) {
        return "%s lack %s%s"
                .formatted(
                        lacking.stream()
                                .map(one -> "shards %s on %s".formatted(one.shards(), one.server()))
                                .collect(Collectors.joining(", ")),
                        what(source, option),
                        option.equals("--table") ? "" : " of table " + source.table());
    }

    private static String what(LookupDefinition.Source source, String option) {
        return switch (option) {
            case "--table" -> "table " + source.table();
            case "--column" -> "column " + source.column();
            case "--uid-column" -> "integer column " + source.uidColumn();
            default -> "integer column " + source.idColumn();
        };
    }

    private boolean suffices(LookupDefinition.Source source, String option) {
        return switch (option) {
            case "--table" -> !columns.isEmpty();
            case "--column" -> columns.contains(source.column());
            case "--uid-column" -> integers.contains(source.uidColumn());
            default -> integers.contains(source.idColumn());
        };
    }

    private List<String> fitting(String option) {
        return option.equals("--column") ? columns : integers;
    }
}
