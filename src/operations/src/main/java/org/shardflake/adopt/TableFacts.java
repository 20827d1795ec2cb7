/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.jdbc.Sql;

/**
 * A table as described by PostgreSQL's catalog.
 *
 * @param name with its schema, as written in SQL
 * @param rows its rows as an item of a FROM clause without the alias: the table, or a query that adds a column
 * @param kind {@code pg_class.relkind}
 * @param hasChildren whether other tables inherit from it, which partitions do not
 * @param primaryKey the names of its columns, in order; empty if there is none
 * @param uniqueKeys the columns of each unique index, or its definition if it has expressions
 * @param newIds whether {@code next_id} fills the primary key with ids
 * @param newKeys whether it is filled with keys of the shard
 * @param shardKey the column that says of itself, by its comment, that it is the table's shard key
 */
record TableFacts(
        String name,
        String rows,
        String plainName,
        String kind,
        boolean hasChildren,
        long estimatedRows,
        List<Column> columns,
        List<String> primaryKey,
        List<List<String>> uniqueKeys,
        boolean newIds,
        boolean newKeys,
        @Nullable String shardKey) {

    private static final String TABLE = """
            SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.relname, c.relkind::text,
                   EXISTS (SELECT FROM pg_inherits i WHERE c.relkind <> 'p' AND i.inhparent = c.oid),
                   (SELECT COALESCE(sum(GREATEST(l.reltuples, 0)), 0)::bigint FROM pg_class l
                     WHERE l.oid = c.oid AND c.relkind <> 'p' OR c.relkind = 'p' AND l.oid IN (SELECT t.relid FROM pg_partition_tree(c.oid) t WHERE t.isleaf)),
                   COALESCE(f.filling ~ 'next_id[(]' AND f.filling !~ 'id_to_key[(]', false), COALESCE(f.filling ~ 'id_to_key[(]', false),
                   (SELECT a.attname FROM pg_description s JOIN pg_attribute a ON a.attrelid = s.objoid AND a.attnum = s.objsubid
                     WHERE s.classoid = 'pg_class'::regclass AND s.objoid = c.oid AND s.objsubid > 0 AND s.description ~* '^shard key\\M' LIMIT 1)
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
              LEFT JOIN LATERAL (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_index i JOIN pg_attrdef d ON d.adrelid = i.indrelid AND d.adnum = i.indkey[0]
                                  WHERE i.indrelid = c.oid AND i.indisprimary) f (filling) ON true
             WHERE c.oid = COALESCE(
                       to_regclass(?),
                       (SELECT to_regclass(quote_ident(path.schema) || '.' || named.name)
                          FROM (VALUES (?)) named (name), unnest(?::text[]) WITH ORDINALITY path (schema, position)
                         WHERE cardinality(parse_ident(named.name, false)) = 1 AND to_regclass(quote_ident(path.schema) || '.' || named.name) IS NOT NULL
                         ORDER BY path.position LIMIT 1))
            """;

    private static final String COLUMNS = """
            SELECT a.attname, quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
                   CASE WHEN t.typnamespace = c.relnamespace
                        THEN CASE WHEN t.typcategory = 'A' AND t.typelem <> 0 THEN quote_ident(p.typname) || '[]' ELSE quote_ident(t.typname) END END,
                   ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = p.oid ORDER BY e.enumsortorder),
                   ARRAY(SELECT f.attname || ' ' || ft.typname FROM pg_attribute f JOIN pg_type ft ON ft.oid = f.atttypid
                          WHERE f.attrelid = p.typrelid AND p.typrelid <> 0 AND f.attnum > 0 AND NOT f.attisdropped ORDER BY f.attnum),
                   CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN format_type(a.atttypid, a.atttypmod)
                        ELSE t.typname || ' ' || a.atttypmod END,
                   t.typtype = 'd', a.attgenerated <> '',""" + Sql.HAS_NO_NULL + """
                   , a.atthasdef OR a.attidentity <> ''
              FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
              JOIN pg_type p ON p.oid = CASE WHEN t.typcategory = 'A' AND t.typelem <> 0 THEN t.typelem WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
             WHERE a.attrelid = CAST(? AS oid) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
            """;

    private static final String UNIQUE_KEYS = """
            SELECT i.indisprimary, CASE WHEN i.indexprs IS NOT NULL THEN ARRAY[pg_get_indexdef(i.indexrelid)] ELSE ARRAY(SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, position)
                                           JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
                                          WHERE k.position <= i.indnkeyatts ORDER BY k.position) END
              FROM pg_index i WHERE i.indrelid = CAST(? AS oid) AND i.indisunique AND i.indisvalid
            """;

    /** Types whose equal values are the same, and cheaper to compare than as bytes. */
    private static final Set<String> PLAIN_TYPES = Set.of("smallint", "integer", "bigint", "uuid");

    private record UniqueKey(boolean isPrimary, List<String> columns) {}

    /**
     * Looks up a table; empty if there is none of this name.
     *
     * @param searchPath the schemas in which a name without a schema is looked up
     */
    static Optional<TableFacts> find(Connection connection, String name, List<String> searchPath) throws SQLException {
        return Sql.list(
                        connection,
                        TABLE,
                        row -> {
                            long oid = row.getLong(1);
                            List<UniqueKey> keys = uniqueKeys(connection, oid);
                            return new TableFacts(
                                    row.getString(2),
                                    own(row.getString(2), row.getString(4)),
                                    row.getString(3),
                                    row.getString(4),
                                    row.getBoolean(5),
                                    row.getLong(6),
                                    columns(connection, oid),
                                    keys.stream()
                                            .filter(UniqueKey::isPrimary)
                                            .map(UniqueKey::columns)
                                            .findFirst()
                                            .orElse(List.of()),
                                    keys.stream().map(UniqueKey::columns).toList(),
                                    row.getBoolean(7),
                                    row.getBoolean(8),
                                    row.getString(9));
                        },
                        name,
                        name,
                        connection.createArrayOf("text", searchPath.toArray()))
                .stream()
                .findFirst();
    }

    private static List<Column> columns(Connection connection, long table) throws SQLException {
        return Sql.list(
                connection,
                COLUMNS,
                row -> new Column(
                        row.getString(1),
                        row.getString(2),
                        row.getString(3),
                        row.getString(4),
                        List.of((String[]) row.getArray(5).getArray()),
                        List.of((String[]) row.getArray(6).getArray()),
                        row.getString(7),
                        row.getBoolean(8),
                        row.getBoolean(9),
                        row.getBoolean(10),
                        row.getBoolean(11)),
                table);
    }

    private static List<UniqueKey> uniqueKeys(Connection connection, long table) throws SQLException {
        return Sql.list(
                connection,
                UNIQUE_KEYS,
                row -> new UniqueKey(
                        row.getBoolean(1), List.of((String[]) row.getArray(2).getArray())),
                table);
    }

    boolean isPartitioned() {
        return kind.equals("p");
    }

    /** The table's own rows, without those of tables that inherit from it. Partitions are not such tables. */
    private static String own(String name, String kind) {
        return kind.equals("p") ? name : "ONLY " + name;
    }

    /** The table's own rows, as an item of a FROM clause without the alias. */
    String own() {
        return own(name, kind);
    }

    /**
     * The table's own rows that the journal follows, as an item of a FROM clause without the alias: without those of partitions that are not on record
     * yet, since such a partition may go without a trace.
     */
    String followed() {
        return kind.equals("p")
                ? "(SELECT * FROM %s WHERE tableoid = ANY (ARRAY(SELECT relation FROM shardflake_adopt.partition)))"
                        .formatted(name)
                : own();
    }

    /**
     * The table with an additional column, computed by a query.
     *
     * @param query of all its columns and this one, in parentheses
     */
    TableFacts with(Column added, String query) {
        List<Column> all = new ArrayList<>(columns);
        all.add(added);
        return new TableFacts(
                name,
                query,
                plainName,
                kind,
                hasChildren,
                estimatedRows,
                all,
                primaryKey,
                uniqueKeys,
                newIds,
                newKeys,
                shardKey);
    }

    Optional<Column> column(String name) {
        return columns.stream().filter(column -> column.name().equals(name)).findFirst();
    }

    /** The columns of the primary key, written in SQL with a row's name: {@code t.id, t.part}. */
    String keyOf(String row) {
        return listOf(row, primaryKey);
    }

    /** Columns, written in SQL with a row's name: {@code t.id, t.part}. */
    String listOf(String row, Collection<String> names) {
        return names.stream()
                .map(name -> row + "." + column(name).orElseThrow().quoted())
                .collect(Collectors.joining(", "));
    }

    /**
     * The SQL for whether columns of two rows have the same values, written in a way that does not depend on the search path: true if they do, and false or
     * null if they may differ. Types of extensions may have no {@code =}, and others that have it take different texts as equal, so theirs are compared byte by
     * byte.
     */
    String isSame(String row, String other, Collection<String> names) {
        List<String> plain = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (String name : names) {
            (PLAIN_TYPES.contains(column(name).orElseThrow().type()) ? plain : others).add(name);
        }
        List<String> conditions = new ArrayList<>();
        for (String name : plain) {
            Column column = column(name).orElseThrow();
            String equal = column.notNull()
                    ? "%1$s.%3$s OPERATOR(pg_catalog.=) %2$s.%3$s"
                    : "(%1$s.%3$s OPERATOR(pg_catalog.=) %2$s.%3$s OR %1$s.%3$s IS NULL AND %2$s.%3$s IS NULL)";
            conditions.add(equal.formatted(row, other, column.quoted()));
        }
        if (!others.isEmpty()) {
            conditions.add("ROW(%s)::pg_catalog.record OPERATOR(pg_catalog.*=) ROW(%s)::pg_catalog.record"
                    .formatted(listOf(row, others), listOf(other, others)));
        }
        return String.join(" AND ", conditions);
    }
}
