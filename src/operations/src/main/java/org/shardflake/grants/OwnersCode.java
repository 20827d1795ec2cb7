/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.grants;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.shardflake.jdbc.Sql;

/**
 * A table whose rows run its owner's code: functions in checks, domains, generated columns and indexes, and triggers that fire even for copied
 * rows. Another role that writes its rows would run that with its own rights: those of a superuser, or of a mover for whom other owners' tables
 * are open, too.
 *
 * @param schema of the table, as in SQL
 * @param owner of the table, as in SQL
 * @param columns those that are written
 */
public record OwnersCode(String schema, String owner, List<Column> columns) {

    /**
     * A column.
     *
     * @param name as in SQL
     * @param type its type, or the one below it, that a value can be read into without a check of a domain
     * @param cast the type to which the value is cast when it is written, which a domain needs
     */
    public record Column(String name, String type, String cast) {}

    /**
     * Finds the functions that expressions need from their text, since pg_depend does not list built-in functions. Those that cannot change are
     * trusted, and those of times, which depend on the time zone; others may read files, set a role, or run a text as SQL. So are what
     * extensions bring, which only a superuser can change, and the library.
     */
    private static final String NEEDED = """
            WITH RECURSIVE lineage (oid) AS (
                SELECT ?::regclass::oid
                 UNION
                SELECT i.inhparent FROM lineage l JOIN pg_inherits i ON i.inhrelid = l.oid JOIN pg_class p ON p.oid = i.inhparent AND p.relkind = 'p'),
            computed (classid, objid, tree) AS (
                SELECT 'pg_constraint'::regclass, k.oid, k.conbin::text FROM lineage l JOIN pg_constraint k ON k.conrelid = l.oid AND k.contype = 'c'
                 UNION ALL
                SELECT 'pg_attrdef'::regclass, d.oid, d.adbin::text
                  FROM lineage l JOIN pg_attribute a ON a.attrelid = l.oid AND a.attgenerated <> '' JOIN pg_attrdef d ON d.adrelid = l.oid AND d.adnum = a.attnum
                 UNION ALL
                SELECT 'pg_class'::regclass, x.indexrelid, concat(x.indexprs::text, x.indpred::text) FROM lineage l JOIN pg_index x ON x.indrelid = l.oid
                 UNION ALL
                SELECT 'pg_class'::regclass, p.partrelid, p.partexprs::text FROM lineage l JOIN pg_partitioned_table p ON p.partrelid = l.oid),
            types (oid) AS (
                (SELECT a.atttypid FROM lineage l JOIN pg_attribute a ON a.attrelid = l.oid AND a.attnum > 0 AND NOT a.attisdropped
                  UNION
                 SELECT d.refobjid FROM computed c JOIN pg_depend d ON d.classid = c.classid AND d.objid = c.objid AND d.refclassid = 'pg_type'::regclass)
                 UNION
                SELECT next.oid
                  FROM types t JOIN pg_type y ON y.oid = t.oid
                 CROSS JOIN LATERAL (
                       SELECT unnest(ARRAY[y.typbasetype, y.typelem])
                        UNION ALL SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = y.typrelid AND a.attnum > 0 AND NOT a.attisdropped
                        UNION ALL SELECT r.rngsubtype FROM pg_range r WHERE y.oid IN (r.rngtypid, r.rngmultitypid)
                        UNION ALL SELECT d.refobjid FROM pg_constraint k JOIN pg_depend d ON d.classid = 'pg_constraint'::regclass AND d.objid = k.oid AND d.refclassid = 'pg_type'::regclass
                                   WHERE k.contypid = y.oid) next (oid)
                 WHERE next.oid <> 0),
            called (oid) AS (
                SELECT (regexp_matches(tree, ':(?:funcid|opfuncid) ([0-9]+)', 'g'))[1]::oid
                  FROM (SELECT tree FROM computed
                         UNION ALL
                        SELECT k.conbin::text FROM types t JOIN pg_constraint k ON k.contypid = t.oid AND k.contype = 'c') trees)
            SELECT EXISTS (
                SELECT FROM lineage l JOIN pg_trigger g ON g.tgrelid = l.oid JOIN pg_proc p ON p.oid = g.tgfoid
                 WHERE g.tgenabled IN ('A', 'R') AND NOT g.tgisinternal AND p.pronamespace IS DISTINCT FROM to_regnamespace('shardflake'))
                OR EXISTS (
                SELECT FROM called f JOIN pg_proc p ON p.oid = f.oid
                 WHERE NOT (p.pronamespace = 'pg_catalog'::regnamespace
                            AND (p.provolatile = 'i'
                                 OR (p.provolatile = 's'
                                     AND (p.proargtypes::oid[] || p.prorettype) && '{timestamptz,timestamp,date,timetz,time,interval}'::regtype[]::oid[]
                                     AND (p.proargtypes::oid[] || p.prorettype) <@ '{timestamptz,timestamp,date,timetz,time,interval,text,boolean,integer,bigint,numeric,"double precision"}'::regtype[]::oid[])))
                   AND NOT (p.provolatile = 'i' AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'))
                   AND p.pronamespace IS DISTINCT FROM to_regnamespace('shardflake'))
            """;

    private static final String OWNER = """
            SELECT quote_ident(n.nspname), quote_ident(o.rolname)
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner, pg_roles m
             WHERE c.oid = ?::regclass AND m.rolname = current_user AND m.oid <> o.oid AND NOT o.rolsuper
            """;

    /** Lists columns, with the base type for a domain and text for a type that contains a domain. */
    private static final String COLUMNS = """
            WITH RECURSIVE base (attnum, type) AS (
                SELECT a.attnum, a.atttypid FROM pg_attribute a WHERE a.attrelid = ?::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
                 UNION
                SELECT b.attnum, t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.type WHERE t.typtype = 'd')
            SELECT quote_ident(a.attname),
                   CASE WHEN t.typtype = 'b' AND t.typelem = 0 OR t.typtype = 'e'
                          OR EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typtype IN ('b', 'e')) THEN format_type(t.oid, NULL) ELSE 'text' END,
                   format_type(a.atttypid, a.atttypmod)
              FROM base b JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'
              JOIN pg_attribute a ON a.attrelid = ?::regclass AND a.attnum = b.attnum
             ORDER BY a.attname
            """;

    private static final String RESTRICT =
            "SELECT set_config(name, ?, false) FROM pg_settings WHERE name = 'restrict_nonsystem_relation_kind'";

    /**
     * Makes a session refuse views and foreign tables, since an owner may replace a table by a view that runs functions; the session must only
     * read owners' tables. PostgreSQL does from 15.8, 16.4 and 17 on.
     */
    public static void refuseViews(Connection connection) throws SQLException {
        Sql.list(connection, RESTRICT, row -> row.getString(1), "view, foreign-table");
    }

    /** Runs a part of a session's work while views and foreign tables are refused. */
    public static <T> T refusingViews(Connection connection, Sql.Work<T> work) throws SQLException {
        refuseViews(connection);
        T result = work.run(); // After a failure the session is closed.
        Sql.list(connection, RESTRICT, row -> row.getString(1), "");
        return result;
    }

    /** The owner's code of a table that this session would run with more rights than the owner has. */
    public static Optional<OwnersCode> of(Connection target, String table) throws SQLException {
        List<OwnersCode> owned =
                Sql.list(target, OWNER, row -> new OwnersCode(row.getString(1), row.getString(2), List.of()), table);
        if (owned.isEmpty() || !Sql.isTrue(target, NEEDED, table)) {
            return Optional.empty();
        }
        List<Column> columns = Sql.list(
                target, COLUMNS, row -> new Column(row.getString(1), row.getString(2), row.getString(3)), table, table);
        return Optional.of(new OwnersCode(owned.get(0).schema(), owned.get(0).owner(), columns));
    }

    private String each(Function<Column, String> part) {
        return columns.stream().map(part).collect(Collectors.joining(", "));
    }

    /** Creates the temporary table into which rows are copied, and which runs no code. */
    public void createStage(Connection target) throws SQLException {
        Sql.execute(
                target,
                "CREATE TEMPORARY TABLE shardflake_rows (%s) ON COMMIT DROP; GRANT SELECT ON pg_temp.shardflake_rows TO %s"
                        .formatted(each(column -> column.name() + " " + column.type()), owner));
    }

    /** The temporary table with its columns, for COPY. */
    public String stage() {
        return "pg_temp.shardflake_rows (%s)".formatted(each(Column::name));
    }

    /** Copies the temporary table's rows into the table, as its owner, and empties the temporary table. */
    public void bring(Connection target, String table) throws SQLException {
        AsOwner.run(
                target,
                schema,
                owner,
                "INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM pg_temp.shardflake_rows"
                        .formatted(
                                table,
                                each(Column::name),
                                each(column -> "(%s)::%s".formatted(column.name(), column.cast()))));
        Sql.execute(target, "TRUNCATE pg_temp.shardflake_rows");
    }

    /** The SQL that writes to the table as its owner. Temporary tables that it reads have been opened to all. */
    public String run(Connection connection, String statements) throws SQLException {
        return AsOwner.sql(connection, schema, owner, List.of(statements));
    }

    /** Drops the temporary table that {@link #createStage} has created. */
    public void dropStage(Connection target) throws SQLException {
        Sql.execute(target, "DROP TABLE pg_temp.shardflake_rows");
    }
}
