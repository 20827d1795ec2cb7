/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toList;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.flyway.AppliedMigrations;
import org.shardflake.jdbc.Sql;

/** The tables of a database, by oid; a partition's name leads to the table that it belongs to. */
record SourceSchema(Map<Long, SourceTable> tables, Map<String, Long> byName) {

    /** The users' tables: without partitions, and without tables of extensions, Shardflake, Flyway and Liquibase. */
    private static final String WANTED = """
            WITH wanted AS (
                SELECT c.oid, c.relname, c.relkind, n.nspname, c.reltuples, c.relrowsecurity
                  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
                   AND n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema'
                   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
                   AND c.relname NOT IN ('databasechangelog', 'databasechangeloglock')
                   AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = ANY (%s) HAVING count(*) = %s))
            """.formatted(AppliedMigrations.COLUMNS, AppliedMigrations.COLUMN_COUNT);

    private static final String TABLES = WANTED + """
            SELECT w.oid, CASE w.nspname WHEN 'public' THEN quote_ident(w.relname) ELSE format('%I.%I', w.nspname, w.relname) END, w.relname,
                   l.held, l.size, l.written,
                   w.relkind = 'p', w.relrowsecurity,
                   EXISTS (SELECT FROM pg_inherits i WHERE w.relkind = 'r' AND w.oid IN (i.inhparent, i.inhrelid)),
                   (SELECT string_agg(t.tgname, ', ' ORDER BY t.tgname) FROM pg_trigger t WHERE t.tgrelid = w.oid AND NOT t.tgisinternal
                       AND t.tgfoid NOT IN (SELECT p.oid FROM pg_proc p WHERE p.pronamespace = to_regnamespace('shardflake_adopt'))),
                   (SELECT string_agg(r.rulename, ', ' ORDER BY r.rulename) FROM pg_rewrite r WHERE r.ev_class = w.oid),
                   (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                     WHERE a.attrelid = w.oid AND NOT a.attisdropped AND a.attnum > 0 AND (t.oid = 'oid'::regtype OR t.typname = 'lo'))
              FROM wanted w
             CROSS JOIN LATERAL (
                   SELECT CASE WHEN bool_or(pg_relation_size(p.oid) > 0 AND (p.reltuples < 0 OR p.reltuples = 0 AND p.relpages = 0)) THEN -1
                               ELSE sum(GREATEST(p.reltuples, 0)) END::bigint,
                          sum(pg_total_relation_size(p.oid))::bigint,
                          sum(pg_stat_get_tuples_inserted(p.oid) + pg_stat_get_tuples_updated(p.oid) + pg_stat_get_tuples_deleted(p.oid))::bigint
                     FROM pg_class p
                    WHERE p.oid = w.oid AND w.relkind = 'r' OR w.relkind = 'p' AND p.oid IN (SELECT t.relid FROM pg_partition_tree(w.oid) t WHERE t.isleaf)
                   ) l (held, size, written)
             ORDER BY 2
            """;

    private static final String COLUMNS = WANTED + """
            SELECT w.oid, a.attname, quote_ident(a.attname), a.attnum, format_type(a.atttypid, a.atttypmod),""" + Sql.HAS_NO_NULL + """
                   , a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'text'::regtype, 'varchar'::regtype, 'uuid'::regtype),
                   a.atthasdef OR a.attidentity <> '', a.attgenerated <> '',
                   COALESCE(CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * GREATEST(w.reltuples, 0) ELSE s.n_distinct END, 0)::bigint,
                   COALESCE(s.most_common_freqs[1], 0)::float8
              FROM wanted w JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum > 0 AND NOT a.attisdropped
              LEFT JOIN pg_stats s ON s.schemaname = w.nspname AND s.tablename = w.relname AND s.attname = a.attname AND s.inherited = (w.relkind = 'p')
             ORDER BY w.oid, a.attnum
            """;

    private static final String UNIQUES = WANTED + """
            SELECT w.oid, c.relname, i.indisprimary, i.indisexclusion,
                   CASE WHEN i.indexprs IS NULL THEN ARRAY(
                        SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, position)
                          JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
                         WHERE k.position <= i.indnkeyatts ORDER BY k.position) ELSE '{}' END,
                   regexp_replace(pg_get_indexdef(i.indexrelid), '^.* USING ', '')
              FROM wanted w JOIN pg_index i ON i.indrelid = w.oid JOIN pg_class c ON c.oid = i.indexrelid
             WHERE (i.indisunique OR i.indisexclusion) AND i.indisvalid
             ORDER BY w.oid, i.indisprimary DESC, c.relname
            """;

    /** Foreign keys, including those that only partitions have, but not temporal ones: the row and the one it refers to have different periods. */
    private static final String FOREIGN_KEYS = WANTED + """
            SELECT DISTINCT ON (w.oid, s.own, k.confrelid, s.others) w.oid, k.conname, k.confrelid, s.own, s.others
              FROM wanted w
              JOIN pg_constraint k ON k.conrelid = w.oid OR w.relkind = 'p' AND k.conrelid IN (SELECT relid FROM pg_partition_tree(w.oid))
             CROSS JOIN LATERAL (
                   SELECT array_agg(a.attname::text ORDER BY u.place), array_agg(b.attname::text ORDER BY u.place)
                     FROM unnest(k.conkey, k.confkey) WITH ORDINALITY u (own, other, place)
                     JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.own
                     JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.other) s (own, others)
             WHERE k.contype = 'f' AND k.conparentid = 0 AND to_jsonb(k) ->> 'conperiod' IS DISTINCT FROM 'true'
             ORDER BY w.oid, s.own, k.confrelid, s.others, k.conname
            """;

    /** Every name under which a plan may show a user's table: its own, and those of its partitions. */
    private static final String NAMES = WANTED + """
            SELECT w.oid, w.nspname, w.relname FROM wanted w
            UNION ALL
            SELECT w.oid, n.nspname, c.relname
              FROM wanted w CROSS JOIN LATERAL pg_partition_tree(w.oid) t JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE w.relkind = 'p' AND t.relid <> w.oid
            """;

    private record Of<T>(long table, T value) {}

    static SourceSchema read(Connection connection) throws SQLException {
        Map<Long, List<SourceTable.Column>> columns = byTable(Sql.list(
                connection,
                COLUMNS,
                row -> new Of<>(
                        row.getLong(1),
                        new SourceTable.Column(
                                row.getString(2),
                                row.getString(3),
                                row.getInt(4),
                                row.getString(5),
                                row.getBoolean(6),
                                row.getBoolean(7),
                                row.getBoolean(8),
                                row.getBoolean(9),
                                row.getLong(10),
                                row.getDouble(11)))));
        Map<Long, List<SourceTable.Unique>> uniques = byTable(Sql.list(
                connection,
                UNIQUES,
                row -> new Of<>(
                        row.getLong(1),
                        new SourceTable.Unique(
                                row.getString(2),
                                row.getBoolean(3),
                                row.getBoolean(4),
                                texts(row, 5),
                                row.getString(6)))));
        Map<Long, List<SourceTable.ForeignKey>> foreignKeys = byTable(Sql.list(
                connection,
                FOREIGN_KEYS,
                row -> new Of<>(
                        row.getLong(1),
                        new SourceTable.ForeignKey(row.getString(2), texts(row, 4), row.getLong(3), texts(row, 5)))));
        Map<Long, SourceTable> tables = new LinkedHashMap<>();
        Sql.list(connection, TABLES, row -> {
            long oid = row.getLong(1);
            return tables.put(
                    oid,
                    new SourceTable(
                            oid,
                            row.getString(2),
                            row.getString(3),
                            row.getLong(4),
                            row.getLong(5),
                            row.getLong(6),
                            Obstacles.oddities(row),
                            columns.getOrDefault(oid, List.of()),
                            uniques.getOrDefault(oid, List.of()),
                            foreignKeys.getOrDefault(oid, List.of())));
        });
        Map<String, Long> names = new HashMap<>();
        Sql.list(connection, NAMES, row -> names.put(name(row.getString(2), row.getString(3)), row.getLong(1)));
        return new SourceSchema(tables, names);
    }

    private static <T> Map<Long, List<T>> byTable(List<Of<T>> rows) {
        return rows.stream().collect(groupingBy(Of::table, mapping(Of::value, toList())));
    }

    private static List<String> texts(ResultSet row, int column) throws SQLException {
        return List.of((String[]) row.getArray(column).getArray());
    }

    private static String name(String schema, String table) {
        return schema + "\0" + table;
    }

    /** The table with a name, or the one that a partition with this name belongs to; null if it is not a user's table. */
    @Nullable
    Long find(String schema, String table) {
        return byName.get(name(schema, table));
    }

    SourceTable table(long oid) {
        SourceTable table = tables.get(oid);
        if (table == null) {
            throw new IllegalArgumentException("no table " + oid);
        }
        return table;
    }

    boolean has(long oid) {
        return tables.containsKey(oid);
    }

    Stream<SourceTable> all() {
        return tables.values().stream();
    }

    /** The other tables that have a foreign key to this one. */
    List<SourceTable> referrers(long oid) {
        List<SourceTable> found = new ArrayList<>();
        all().filter(table -> table.targets().contains(oid)).forEach(found::add);
        return found;
    }
}
