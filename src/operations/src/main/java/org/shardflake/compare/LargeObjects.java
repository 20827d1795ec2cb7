/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import org.shardflake.jdbc.Sql;

/** The columns that refer to large objects, which belong to a database and do not move with rows. */
public final class LargeObjects {

    /** The advice for large objects. */
    public static final String REMEDY =
            "keep the contents in the row: ALTER TABLE ... ALTER COLUMN ... TYPE bytea USING lo_get(...), or text with convert_from(lo_get(...::oid), 'UTF8'); in Hibernate without @Lob";

    private static final String TABLES = "WITH RECURSIVE wanted (oid) AS (%s)";

    /** Finds columns of large objects by their types, including domains, arrays and composite types. */
    private static final String BY_TYPE = TABLES + """
            , refers (oid) AS (
                SELECT oid FROM pg_type WHERE oid = 'pg_catalog.oid'::regtype OR typname = 'lo'
                 UNION
                SELECT t.oid FROM refers r JOIN pg_type t
                    ON t.typtype = 'd' AND t.typbasetype = r.oid OR t.typcategory = 'A' AND t.typelem = r.oid
                    OR t.typtype = 'c' AND EXISTS (SELECT FROM pg_attribute f JOIN pg_class c ON c.oid = f.attrelid AND c.relkind = 'c'
                                                    WHERE f.attrelid = t.typrelid AND f.atttypid = r.oid))
            SELECT n.nspname, format('%%I.%%I', c.relname, a.attname)
              FROM wanted w JOIN pg_class c ON c.oid = w.oid AND c.relkind = 'r' JOIN pg_namespace n ON n.oid = c.relnamespace
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN refers r ON r.oid = a.atttypid
             ORDER BY 1, 2
            """;

    private static final String TEXTS = TABLES + """
            SELECT n.nspname, c.relname, a.attname, format('%%I.%%I', n.nspname, c.relname), quote_ident(a.attname), format('%%I.%%I', c.relname, a.attname)
              FROM wanted w JOIN pg_class c ON c.oid = w.oid AND c.relkind = 'r' JOIN pg_namespace n ON n.oid = c.relnamespace
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
              JOIN pg_type t ON t.oid = a.atttypid AND t.typcategory = 'S'
             WHERE EXISTS (SELECT FROM pg_largeobject_metadata)
             ORDER BY 1, 2, 3
            """;

    /**
     * Whether texts are the numbers of large objects, as Hibernate stores them: among the first texts, all are numbers, and most of those
     * exist.
     */
    private static final String ARE_NUMBERS = """
            SELECT %s WHERE (
                SELECT count(*) > 0 AND bool_and(v ~ '^[0-9]{1,10}$')
                   AND 2 * count(*) FILTER (WHERE EXISTS (
                       SELECT FROM pg_largeobject_metadata m
                        WHERE m.oid = CASE WHEN v ~ '^[0-9]{1,10}$' AND v::bigint < 4294967296 THEN v::oid END)) >= count(*)
                  FROM (SELECT v FROM (SELECT %s::text AS v FROM ONLY %s LIMIT 10000) early WHERE v <> '' LIMIT 100) sample)
            """;

    private static final int COLUMNS_AT_A_TIME = 50;

    private LargeObjects() {}

    /**
     * A column that may refer to large objects.
     *
     * @param schema the name, not quoted
     * @param column with its table, as written in SQL
     */
    public record Reference(String schema, String column) {

        @Override
        public String toString() {
            return schema + "." + column;
        }
    }

    private record Text(String schema, String table, String quoted, String column) {}

    /**
     * The columns whose type is for large objects and, if the database has any, text columns that hold their numbers. Reads a few rows of each
     * table with texts then.
     *
     * @param tables a query of the tables' oids
     */
    public static List<Reference> referred(Connection connection, String tables, Object... parameters)
            throws SQLException {
        List<Reference> found = new ArrayList<>(Sql.list(
                connection,
                BY_TYPE.formatted(tables),
                row -> new Reference(row.getString(1), row.getString(2)),
                parameters));
        List<Text> texts = Sql.list(
                connection,
                TEXTS.formatted(tables),
                row -> new Text(row.getString(1), row.getString(4), row.getString(5), row.getString(6)),
                parameters);
        for (int i = 0; i < texts.size(); i += COLUMNS_AT_A_TIME) {
            List<Text> some = texts.subList(i, Math.min(i + COLUMNS_AT_A_TIME, texts.size()));
            StringBuilder sql = new StringBuilder();
            for (int j = 0; j < some.size(); j++) {
                sql.append(j == 0 ? "" : " UNION ALL ")
                        .append(ARE_NUMBERS.formatted(
                                j, some.get(j).quoted(), some.get(j).table()));
            }
            for (int number : Sql.list(connection, sql.toString(), row -> row.getInt(1))) {
                found.add(new Reference(
                        some.get(number).schema(), some.get(number).column()));
            }
        }
        return found;
    }

    /** The columns of all tables, each named once however many schemas have it; empty without any. */
    public static Optional<String> named(List<Reference> references) {
        TreeSet<String> columns = new TreeSet<>();
        references.forEach(reference -> columns.add(reference.column()));
        return columns.isEmpty()
                ? Optional.empty()
                : Optional.of(columns.stream().limit(10).collect(joining(", ")) + (columns.size() > 10 ? ", ..." : ""));
    }
}
