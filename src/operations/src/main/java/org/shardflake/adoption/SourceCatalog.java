/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.jdbc.Sql;

/** The definitions of the old database's tables, and of the types, collations and functions that they need, without their schemas. */
record SourceCatalog(
        Map<TableName, Table> tables,
        Map<Long, Definition> types,
        Map<Long, Definition> collations,
        Map<Long, Function> functions,
        Map<Long, Set<Long>> needs,
        Map<Long, Set<String>> extensions,
        List<String> schemas,
        SqlNames names) {

    /**
     * A column.
     *
     * @param plainType its type without modifiers; of a domain, the base type
     * @param isCounted whether a sequence fills it
     * @param generated {@code s} if stored, {@code v} if virtual, empty if neither
     * @param settings clauses of ALTER COLUMN
     */
    record Column(
            String name,
            String type,
            String plainType,
            boolean isDomain,
            boolean isNotNull,
            @Nullable String value,
            boolean isCounted,
            String generated,
            @Nullable String collation,
            List<String> settings,
            @Nullable String comment) {}

    /**
     * A constraint.
     *
     * @param type as in pg_constraint
     * @param target the oid of the table that it refers to
     * @param actions what follows the columns that it refers to
     * @param hasPeriod whether it is a temporal foreign key, whose last column is a {@code PERIOD}
     */
    record Constraint(
            String name,
            String type,
            String definition,
            List<String> columns,
            long target,
            List<String> targetColumns,
            String actions,
            boolean isDeferrable,
            @Nullable String comment,
            boolean hasPeriod) {}

    /**
     * An index that belongs to no constraint.
     *
     * @param using the definition from the access method on
     * @param columns empty if it has expressions
     */
    record Index(
            String name,
            boolean isUnique,
            String using,
            List<String> columns,
            boolean isPartial,
            @Nullable String comment) {}

    /** A trigger. */
    record Trigger(
            String name,
            String definition,
            String enabled,
            @Nullable String comment) {}

    /** A type, a collation, or extended statistics. */
    record Definition(String name, String sql) {}

    /** A function or procedure. */
    record Function(
            String name,
            String signature,
            String kind,
            String language,
            String definition,
            String body,
            @Nullable String comment) {}

    /**
     * A table.
     *
     * @param keysOfExtensions the columns of the primary key whose types an extension compares
     * @param oddities what does not come along, with the way out, by turns
     * @param unfit why its rows cannot be brought into shards, with the way out; empty if they can
     */
    record Table(
            long oid,
            TableName name,
            String options,
            @Nullable String comment,
            List<Column> columns,
            List<Constraint> constraints,
            List<Index> indexes,
            List<Trigger> triggers,
            List<Definition> statistics,
            List<String> keysOfExtensions,
            List<String> oddities,
            List<String> unfit) {

        Column column(String wanted) {
            return columns.stream()
                    .filter(column -> column.name().equals(wanted))
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("no column " + wanted));
        }

        boolean has(String wanted) {
            return columns.stream().anyMatch(column -> column.name().equals(wanted));
        }

        List<String> primaryKey() {
            return constraints.stream()
                    .filter(constraint -> constraint.type().equals("p"))
                    .findFirst()
                    .map(Constraint::columns)
                    .orElse(List.of());
        }
    }

    private static final Pattern WORD = Pattern.compile("[\\w$]+");

    /** The tables to read, as org.shardflake.assess finds them. */
    private static final String WANTED = """
            WITH wanted AS (
                SELECT c.*, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
                   AND n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema'
                   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))
            """;

    private static final String SCHEMAS = WANTED + "SELECT DISTINCT nspname::text FROM wanted ORDER BY 1";

    /** Sets the search path to the schemas of extensions, so that definitions name their types, functions and operators without a schema. */
    private static final String PATH = """
            SELECT set_config('search_path', string_agg(quote_ident(name), ', ' ORDER BY place), true)
              FROM (SELECT name, min(place) AS place FROM (
                        SELECT name, place FROM unnest(?::text[]) WITH ORDINALITY u (name, place)
                         UNION ALL SELECT n.nspname, 1000 FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE n.nspname <> 'pg_catalog') s
                     GROUP BY name) p
            """;

    /** A name as PostgreSQL writes it, with its schema or without, for regular expressions. */
    private static final String NAME = "(?:(?:\"(?:[^\"]|\"\")*\"|[^\" .(]+)[.])?(?:\"(?:[^\"]|\"\")*\"|[^\" .(]+)";

    private static final String TABLES = WANTED + """
            SELECT w.oid, w.nspname, w.relname,
                   COALESCE(' WITH (' || (SELECT string_agg(regexp_replace(o, '=(.*)$', '=''\\1'''), ', ') FROM unnest(w.reloptions) o) || ')', ''),
                   obj_description(w.oid, 'pg_class'),
                   w.relkind = 'p', EXISTS (SELECT FROM pg_inherits i WHERE w.relkind = 'r' AND w.oid IN (i.inhparent, i.inhrelid)),
                   w.relpersistence = 'u',
                   w.relrowsecurity OR EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = w.oid),
                   (SELECT string_agg(r.rulename, ', ' ORDER BY r.rulename) FROM pg_rewrite r WHERE r.ev_class = w.oid),
                   w.relreplident = 'f', w.reltablespace <> 0,
                   (SELECT string_agg(x.indexrelid::regclass::text, ', ') FROM pg_index x WHERE x.indrelid = w.oid AND NOT x.indisvalid),
                   (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                     WHERE a.attrelid = w.oid AND NOT a.attisdropped AND a.attnum > 0 AND (t.oid = 'oid'::regtype OR t.typname = 'lo')),
                   ARRAY(SELECT a.attname::text FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[]) k (attnum, opclass)
                           JOIN pg_opclass o ON o.oid = k.opclass JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
                          WHERE i.indrelid = w.oid AND i.indisprimary AND o.opcnamespace <> 'pg_catalog'::regnamespace),
                   (SELECT string_agg(i.inhrelid::regclass::text, ', ' ORDER BY i.inhrelid::regclass::text) FROM pg_inherits i WHERE w.relkind = 'r' AND i.inhparent = w.oid),
                   w.relkind = 'p' AND current_setting('server_version_num')::integer < 130004,
                   (SELECT string_agg(what, ', ' ORDER BY what) FROM pg_partition_tree(w.oid) t CROSS JOIN LATERAL (
                        SELECT 'index ' || x.indexrelid::regclass::text FROM pg_index x JOIN pg_class k ON k.oid = x.indexrelid WHERE x.indrelid = t.relid AND NOT k.relispartition
                         UNION ALL SELECT format('constraint %I of %s', k.conname, t.relid) FROM pg_constraint k
                                    WHERE k.conrelid = t.relid AND k.contype IN ('c', 'f') AND k.conparentid = 0 AND k.conislocal AND k.coninhcount = 0
                         UNION ALL SELECT format('trigger %I of %s', g.tgname, t.relid) FROM pg_trigger g
                                    WHERE g.tgrelid = t.relid AND NOT g.tgisinternal AND g.tgname !~ '^shardflake_adopt_'
                                      AND NOT EXISTS (SELECT FROM pg_trigger o WHERE o.tgrelid IN (SELECT relid FROM pg_partition_ancestors(t.relid)) AND o.tgrelid <> t.relid AND o.tgname = g.tgname)) own (what)
                     WHERE w.relkind = 'p' AND t.level > 0),
                   (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = w.oid AND a.attnotnull AND NOT (""" + Sql.HAS_NO_NULL + """
                       ))
              FROM wanted w ORDER BY w.nspname, w.relname
            """;

    private static final String COLUMNS = WANTED + """
            SELECT w.oid, a.attname, format_type(a.atttypid, a.atttypmod),
                   format_type(COALESCE(NULLIF(t.typbasetype, 0), t.oid), NULL), t.typtype = 'd',""" + Sql.HAS_NO_NULL + """
                   , pg_get_expr(d.adbin, d.adrelid),
                   a.attidentity <> '' OR a.attgenerated = '' AND COALESCE(pg_get_expr(d.adbin, d.adrelid) ~ '^nextval[(]', false),
                   a.attgenerated::text,
                   CASE WHEN a.attcollation <> t.typcollation THEN (SELECT quote_ident(c.collname) FROM pg_collation c WHERE c.oid = a.attcollation) END,
                   array_remove(ARRAY[
                       CASE WHEN a.attstorage <> t.typstorage THEN 'SET STORAGE ' || CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'x' THEN 'EXTENDED' ELSE 'MAIN' END END,
                       CASE to_jsonb(a) ->> 'attcompression' WHEN 'p' THEN 'SET COMPRESSION pglz' WHEN 'l' THEN 'SET COMPRESSION lz4' END,
                       CASE WHEN a.attstattarget >= 0 THEN 'SET STATISTICS ' || a.attstattarget END,
                       'SET (' || array_to_string(a.attoptions, ', ') || ')'], NULL),
                   col_description(w.oid, a.attnum)
              FROM wanted w JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type t ON t.oid = a.atttypid
              LEFT JOIN pg_attrdef d ON d.adrelid = w.oid AND d.adnum = a.attnum
             ORDER BY w.oid, a.attnum
            """;

    private static final String CONSTRAINTS = WANTED + """
            SELECT w.oid, k.conname, k.contype::text, pg_get_constraintdef(k.oid),
                   ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u (attnum, place) JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.attnum ORDER BY u.place),
                   k.confrelid,
                   ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u (attnum, place) JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.attnum ORDER BY u.place),
                   concat(CASE k.confmatchtype WHEN 'f' THEN ' MATCH FULL' END,
                          CASE k.confupdtype WHEN 'r' THEN ' ON UPDATE RESTRICT' WHEN 'c' THEN ' ON UPDATE CASCADE' WHEN 'n' THEN ' ON UPDATE SET NULL' WHEN 'd' THEN ' ON UPDATE SET DEFAULT' END,
                          CASE k.confdeltype WHEN 'r' THEN ' ON DELETE RESTRICT' WHEN 'c' THEN ' ON DELETE CASCADE' WHEN 'n' THEN ' ON DELETE SET NULL' WHEN 'd' THEN ' ON DELETE SET DEFAULT' END,
                          (SELECT ' (' || string_agg(quote_ident(a.attname), ', ') || ')' FROM jsonb_array_elements_text(NULLIF(to_jsonb(k) -> 'confdelsetcols', 'null')) c JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = c::int2),
                          CASE WHEN k.condeferrable THEN ' DEFERRABLE' END, CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' END,
                          CASE WHEN to_jsonb(k) ->> 'conenforced' = 'false' THEN ' NOT ENFORCED' WHEN NOT k.convalidated THEN ' NOT VALID' END),
                   k.condeferrable, obj_description(k.oid, 'pg_constraint'), to_jsonb(k) ->> 'conperiod' = 'true'
              FROM wanted w JOIN pg_constraint k ON k.conrelid = w.oid
             WHERE k.contype IN ('c', 'u', 'p', 'x', 'f') AND k.conparentid = 0
             ORDER BY w.oid, position(k.contype::text IN 'pucxf'), k.conname
            """;

    private static final String INDEXES = WANTED + """
            SELECT w.oid, c.relname, i.indisunique, regexp_replace(pg_get_indexdef(i.indexrelid, 0, true), '^CREATE (UNIQUE )?INDEX NAME ON (ONLY )?NAME USING ', ''),
                   CASE WHEN i.indexprs IS NULL THEN ARRAY(
                        SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, place)
                          JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
                         WHERE k.place <= i.indnkeyatts ORDER BY k.place) ELSE '{}' END,
                   i.indpred IS NOT NULL, obj_description(c.oid, 'pg_class')
              FROM wanted w JOIN pg_index i ON i.indrelid = w.oid JOIN pg_class c ON c.oid = i.indexrelid
             WHERE i.indisvalid AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid AND k.contype IN ('p', 'u', 'x'))
             ORDER BY w.oid, c.relname
            """.replace("NAME", NAME);

    private static final String TRIGGERS = WANTED + """
            SELECT w.oid, t.tgname, pg_get_triggerdef(t.oid, true), t.tgenabled::text, obj_description(t.oid, 'pg_trigger')
              FROM wanted w JOIN pg_trigger t ON t.tgrelid = w.oid AND NOT t.tgisinternal
             WHERE t.tgfoid NOT IN (SELECT p.oid FROM pg_proc p WHERE p.pronamespace = to_regnamespace('shardflake_adopt'))
             ORDER BY w.oid, t.tgname
            """;

    private static final String STATISTICS = WANTED + """
            SELECT w.oid, s.stxname, format('CREATE STATISTICS %I', s.stxname) || regexp_replace(pg_get_statisticsobjdef(s.oid), '^CREATE STATISTICS NAME', '')
              FROM wanted w JOIN pg_statistic_ext s ON s.stxrelid = w.oid ORDER BY w.oid, s.stxname
            """.replace("NAME", NAME);

    private static final String TYPES = """
            SELECT t.oid, quote_ident(t.typname),
                   CASE t.typtype
                   WHEN 'e' THEN format('CREATE TYPE %I AS ENUM (%s)', t.typname, (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid))
                   WHEN 'd' THEN concat_ws(' ', format('CREATE DOMAIN %I AS %s', t.typname, format_type(t.typbasetype, t.typtypmod)),
                        CASE WHEN t.typcollation <> b.typcollation THEN (SELECT 'COLLATE ' || quote_ident(c.collname) FROM pg_collation c WHERE c.oid = t.typcollation) END,
                        'DEFAULT ' || pg_get_expr(t.typdefaultbin, 0), CASE WHEN t.typnotnull THEN 'NOT NULL' END,
                        (SELECT string_agg(format('CONSTRAINT %I %s', k.conname, pg_get_constraintdef(k.oid)), ' ' ORDER BY k.conname) FROM pg_constraint k WHERE k.contypid = t.oid AND k.contype = 'c'))
                   WHEN 'c' THEN format('CREATE TYPE %I AS (%s)', t.typname, (
                        SELECT string_agg(format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                                                 CASE WHEN a.attcollation <> f.typcollation THEN (SELECT ' COLLATE ' || quote_ident(c.collname) FROM pg_collation c WHERE c.oid = a.attcollation) END), ', ' ORDER BY a.attnum)
                          FROM pg_attribute a JOIN pg_type f ON f.oid = a.atttypid WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped))
                   ELSE (SELECT format('CREATE TYPE %I AS RANGE (SUBTYPE = %s%s%s)', t.typname, format_type(g.rngsubtype, NULL),
                                       CASE WHEN g.rngcollation <> (SELECT f.typcollation FROM pg_type f WHERE f.oid = g.rngsubtype)
                                            THEN (SELECT ', COLLATION = ' || quote_ident(c.collname) FROM pg_collation c WHERE c.oid = g.rngcollation) END,
                                       CASE WHEN g.rngsubdiff <> 0 THEN ', SUBTYPE_DIFF = ' || g.rngsubdiff::text END) FROM pg_range g WHERE g.rngtypid = t.oid) END
                   || CASE WHEN obj_description(t.oid, 'pg_type') IS NULL THEN ''
                           ELSE format(E';\\nCOMMENT ON %s %I IS %L', CASE t.typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END, t.typname, obj_description(t.oid, 'pg_type')) END
              FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_type b ON b.oid = t.typbasetype
             WHERE n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema'
               AND (t.typtype IN ('e', 'd', 'r') OR t.typtype = 'c' AND (SELECT c.relkind FROM pg_class c WHERE c.oid = t.typrelid) = 'c')
               AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e')
             ORDER BY t.oid
            """;

    /** The collations that users have created. What a version of PostgreSQL does not know of them is null here. */
    private static final String COLLATIONS = """
            SELECT c.oid, quote_ident(c.collname),
                   format('CREATE COLLATION %I (%s)', c.collname, concat_ws(', ',
                          'PROVIDER = ' || CASE c.collprovider WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END,
                          'LOCALE = ' || quote_literal(COALESCE(j ->> 'colllocale', j ->> 'colliculocale', CASE WHEN c.collprovider = 'i' OR c.collcollate = c.collctype THEN c.collcollate END)),
                          CASE WHEN c.collprovider = 'c' AND c.collcollate <> c.collctype THEN format('LC_COLLATE = %L, LC_CTYPE = %L', c.collcollate, c.collctype) END,
                          'RULES = ' || quote_literal(j ->> 'collicurules'),
                          CASE WHEN NOT c.collisdeterministic THEN 'DETERMINISTIC = false' END))
                   || COALESCE(format(E';\\nCOMMENT ON COLLATION %I IS %L', c.collname, obj_description(c.oid, 'pg_collation')), '')
              FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace CROSS JOIN LATERAL to_jsonb(c) j
             WHERE n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema'
               AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_collation'::regclass AND d.objid = c.oid AND d.deptype = 'e')
             ORDER BY c.oid
            """;

    private static final String FUNCTIONS = """
            SELECT p.oid, p.proname, p.oid::regprocedure::text, CASE p.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, l.lanname,
                   regexp_replace(pg_get_functiondef(p.oid), '^(CREATE OR REPLACE (FUNCTION|PROCEDURE) )NAME[(]', '\\1' || replace(quote_ident(p.proname), '\\', '\\\\') || '('),
                   p.prosrc, obj_description(p.oid, 'pg_proc')
              FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
             WHERE n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema' AND p.prokind IN ('f', 'p')
               AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype IN ('e', 'i'))
             ORDER BY p.oid
            """.replace("NAME", NAME);

    /**
     * The types, collations and functions that a table, type or function needs; whatever part of a table needs them, the table's oid is given.
     * An array needs its elements.
     */
    private static final String NEEDS = """
            SELECT COALESCE(d.adrelid, NULLIF(k.conrelid, 0), i.indrelid, g.tgrelid, NULLIF(k.contypid, 0), c.oid, e.objid) AS who, e.refobjid
              FROM (SELECT objid, classid, refobjid, refclassid FROM pg_depend WHERE refclassid IN ('pg_type'::regclass, 'pg_proc'::regclass, 'pg_collation'::regclass) AND refobjid >= 16384) e
              LEFT JOIN pg_attrdef d ON e.classid = 'pg_attrdef'::regclass AND d.oid = e.objid
              LEFT JOIN pg_constraint k ON e.classid = 'pg_constraint'::regclass AND k.oid = e.objid
              LEFT JOIN pg_index i ON e.classid = 'pg_class'::regclass AND i.indexrelid = e.objid
              LEFT JOIN pg_trigger g ON e.classid = 'pg_trigger'::regclass AND g.oid = e.objid
              LEFT JOIN pg_type c ON e.classid = 'pg_class'::regclass AND c.typrelid = e.objid AND (SELECT relkind FROM pg_class WHERE oid = e.objid) = 'c'
             UNION
            SELECT oid, typelem FROM pg_type WHERE typelem <> 0 AND typelem >= 16384
             UNION
            SELECT (to_jsonb(g) ->> 'rngmultitypid')::oid, g.rngtypid FROM pg_range g WHERE g.rngtypid >= 16384 AND to_jsonb(g) ->> 'rngmultitypid' IS NOT NULL
            """;

    /** The extensions that an object needs, by the object's oid. */
    private static final String EXTENSIONS = """
            SELECT DISTINCT COALESCE(d.adrelid, NULLIF(k.conrelid, 0), i.indrelid, g.tgrelid, NULLIF(k.contypid, 0), e.objid), x.extname
              FROM pg_depend e
              JOIN pg_depend m ON m.classid = e.refclassid AND m.objid = e.refobjid AND m.deptype = 'e'
              JOIN pg_extension x ON x.oid = m.refobjid AND m.refclassid = 'pg_extension'::regclass AND x.extnamespace <> 'pg_catalog'::regnamespace
              LEFT JOIN pg_attrdef d ON e.classid = 'pg_attrdef'::regclass AND d.oid = e.objid
              LEFT JOIN pg_constraint k ON e.classid = 'pg_constraint'::regclass AND k.oid = e.objid
              LEFT JOIN pg_index i ON e.classid = 'pg_class'::regclass AND i.indexrelid = e.objid
              LEFT JOIN pg_trigger g ON e.classid = 'pg_trigger'::regclass AND g.oid = e.objid
             WHERE e.deptype IN ('n', 'a')
            """;

    /** Reads the catalog within the connection's transaction, whose search_path it changes. */
    static SourceCatalog read(Connection connection) throws SQLException {
        List<String> schemas = Sql.list(connection, SCHEMAS, row -> row.getString(1));
        Sql.call(connection, PATH, connection.createArrayOf("text", schemas.toArray()));
        Map<Long, List<Column>> columns = read(connection, COLUMNS, SourceCatalog::column);
        Map<Long, List<Constraint>> constraints = read(
                connection,
                CONSTRAINTS,
                row -> new Constraint(
                        row.getString(2),
                        row.getString(3),
                        row.getString(4),
                        texts(row, 5),
                        row.getLong(6),
                        texts(row, 7),
                        row.getString(8),
                        row.getBoolean(9),
                        row.getString(10),
                        row.getBoolean(11)));
        Map<Long, List<Index>> indexes = read(
                connection,
                INDEXES,
                row -> new Index(
                        row.getString(2),
                        row.getBoolean(3),
                        row.getString(4),
                        texts(row, 5),
                        row.getBoolean(6),
                        row.getString(7)));
        Map<Long, List<Trigger>> triggers = read(
                connection,
                TRIGGERS,
                row -> new Trigger(row.getString(2), row.getString(3), row.getString(4), row.getString(5)));
        Map<Long, List<Definition>> statistics =
                read(connection, STATISTICS, row -> new Definition(row.getString(2), row.getString(3)));
        Map<TableName, Table> tables = new LinkedHashMap<>();
        Sql.list(connection, TABLES, row -> {
            long oid = row.getLong(1);
            TableName name = new TableName(row.getString(2), row.getString(3));
            return tables.put(
                    name,
                    new Table(
                            oid,
                            name,
                            row.getString(4),
                            row.getString(5),
                            columns.getOrDefault(oid, List.of()),
                            constraints.getOrDefault(oid, List.of()),
                            indexes.getOrDefault(oid, List.of()),
                            triggers.getOrDefault(oid, List.of()),
                            statistics.getOrDefault(oid, List.of()),
                            texts(row, 15),
                            oddities(row),
                            unfit(row)));
        });
        Map<Long, Definition> types = new LinkedHashMap<>();
        Sql.list(
                connection,
                TYPES,
                row -> types.put(row.getLong(1), new Definition(row.getString(2), row.getString(3))));
        Map<Long, Definition> collations = new LinkedHashMap<>();
        Sql.list(
                connection,
                COLLATIONS,
                row -> collations.put(row.getLong(1), new Definition(row.getString(2), row.getString(3))));
        Map<Long, Function> functions = new LinkedHashMap<>();
        Sql.list(
                connection,
                FUNCTIONS,
                row -> functions.put(
                        row.getLong(1),
                        new Function(
                                row.getString(2),
                                row.getString(3),
                                row.getString(4),
                                row.getString(5),
                                row.getString(6),
                                row.getString(7),
                                row.getString(8))));
        Map<Long, Set<Long>> needs = new HashMap<>();
        read(connection, NEEDS, row -> row.getLong(2)).forEach((who, what) -> needs.put(who, new HashSet<>(what)));
        addCalls(functions, needs);
        Map<Long, Set<String>> extensions = new HashMap<>();
        read(connection, EXTENSIONS, row -> row.getString(2))
                .forEach((who, what) -> extensions.put(who, new HashSet<>(what)));
        return new SourceCatalog(
                tables, types, collations, functions, needs, extensions, schemas, SqlNames.read(connection));
    }

    /** Adds the functions that function bodies call, which PostgreSQL does not record. */
    private static void addCalls(Map<Long, Function> functions, Map<Long, Set<Long>> needs) {
        Map<String, Set<Long>> named = new HashMap<>();
        functions.forEach((oid, function) ->
                named.computeIfAbsent(function.name(), name -> new HashSet<>()).add(oid));
        List<String> odd = named.keySet().stream()
                .filter(name -> !WORD.matcher(name).matches())
                .toList();
        functions.forEach((oid, function) -> {
            Set<Long> called = new HashSet<>();
            WORD.matcher(function.body())
                    .results()
                    .forEach(word -> called.addAll(named.getOrDefault(word.group(), Set.of())));
            odd.stream()
                    .filter(name -> mentions(function.body(), name))
                    .forEach(name -> called.addAll(named.getOrDefault(name, Set.of())));
            called.remove(oid);
            if (!called.isEmpty()) {
                needs.computeIfAbsent(oid, key -> new HashSet<>()).addAll(called);
            }
        });
    }

    static boolean mentions(String text, String name) {
        return Pattern.compile("(?<![\\w$])" + Pattern.quote(name) + "(?![\\w$])")
                .matcher(text)
                .find();
    }

    private static Column column(ResultSet row) throws SQLException {
        return new Column(
                row.getString(2),
                row.getString(3),
                row.getString(4),
                row.getBoolean(5),
                row.getBoolean(6),
                row.getString(7),
                row.getBoolean(8),
                row.getString(9),
                row.getString(10),
                texts(row, 11),
                row.getString(12));
    }

    private static List<String> oddities(ResultSet row) throws SQLException {
        List<String> found = new ArrayList<>();
        add(
                found,
                row.getBoolean(6),
                "it is partitioned",
                "the shards make it smaller: it becomes one plain table in each; write partitions into the changelog if you need them");
        String own = row.getString(18);
        add(
                found,
                own != null,
                "what only partitions have: " + own,
                "write what the whole table needs into the changelog");
        add(
                found,
                row.getBoolean(7),
                "it inherits, or is inherited from",
                "it becomes a plain table with all its columns; bring its rows together first");
        add(
                found,
                row.getBoolean(8),
                "it is UNLOGGED",
                "it becomes an ordinary table: what is not logged can be neither moved nor replicated");
        add(
                found,
                row.getBoolean(9),
                "it has row-level security",
                "write its policies into the changelog; they must not look at other shards");
        String unchecked = row.getString(19);
        add(
                found,
                unchecked != null,
                "that columns are NOT NULL, which is NOT VALID: " + unchecked,
                "fill them, and validate it; write it into the changelog when no row without a value is left");
        String rules = row.getString(10);
        add(found, rules != null, "rules: " + rules, "replace them by triggers or by the application");
        add(found, row.getBoolean(11), "its replica identity is FULL", "the shards use the primary key");
        add(
                found,
                row.getBoolean(12),
                "it is in a separate tablespace",
                "create the tablespace on all servers, and name it in the changelog");
        String invalid = row.getString(13);
        add(
                found,
                invalid != null,
                "indexes that are not valid: " + invalid,
                "build them again, or drop them, and run the plan again");
        String objects = row.getString(14);
        add(
                found,
                objects != null,
                "columns that may hold large objects: " + objects,
                "keep the bytes in a bytea column: large objects belong to a database, not to a shard");
        return found;
    }

    private static List<String> unfit(ResultSet row) throws SQLException {
        List<String> found = new ArrayList<>();
        String children = row.getString(16);
        add(
                found,
                children != null,
                "tables inherit from it: " + children,
                "bring the rows together in one table without inheritance, and run the plan again");
        add(
                found,
                row.getBoolean(17),
                "it is partitioned, and before PostgreSQL 13.4, triggers cannot refuse writes to partitioned tables, or refuse those to new partitions",
                "upgrade the old database first, and run the plan again");
        return found;
    }

    private static void add(List<String> found, boolean isThere, String problem, String remedy) {
        if (isThere) {
            found.add(problem);
            found.add(remedy);
        }
    }

    private static <T> Map<Long, List<T>> read(Connection connection, String sql, Sql.RowReader<T> reader)
            throws SQLException {
        Map<Long, List<T>> found = new HashMap<>();
        Sql.list(
                connection,
                sql,
                row -> found.computeIfAbsent(row.getLong(1), oid -> new ArrayList<>())
                        .add(reader.read(row)));
        return found;
    }

    private static List<String> texts(ResultSet row, int column) throws SQLException {
        return List.of((String[]) row.getArray(column).getArray());
    }

    /** All objects that the given ones depend on, each after its own dependencies; the given ones are left out. */
    Set<Long> closure(Set<Long> objects) {
        Set<Long> found = new LinkedHashSet<>();
        Deque<Long> open = new ArrayDeque<>();
        Set<Long> entered = new HashSet<>();
        // Depth first: an object is found when all that it needs is.
        objects.forEach(open::push);
        while (!open.isEmpty()) {
            long object = open.peek();
            if (entered.add(object)) {
                needs.getOrDefault(object, Set.of()).stream()
                        .filter(needed -> !entered.contains(needed))
                        .sorted()
                        .forEach(open::push);
            } else {
                open.pop();
                if (!objects.contains(object)) {
                    found.add(object);
                }
            }
        }
        return found;
    }
}
