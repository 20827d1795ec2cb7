/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;

/**
 * The foreign keys of tables, and the rows that violate them. PostgreSQL checks a foreign key when rows are written by it, and not when
 * replication or an adoption writes them.
 */
public final class ForeignKeys {

    private static final int SAMPLES = 3;

    /** The number of keys checked together, few enough that their hash tables stay small. */
    private static final int KEYS_AT_A_TIME = 10;

    /** Lists foreign keys, except NOT ENFORCED ones, those with PERIOD, and those of partitions, which belong to the partitioned table's. */
    private static final String KEYS = """
            WITH wanted (oid) AS (%s)
            SELECT n.nspname, k.conname, c.relname, p.relname, k.convalidated,
                   format('%%s%%I.%%I', CASE c.relkind WHEN 'r' THEN 'ONLY ' ELSE '' END, n.nspname, c.relname),
                   format('%%s%%I.%%I', CASE p.relkind WHEN 'r' THEN 'ONLY ' ELSE '' END, pn.nspname, p.relname),
                   s.own, s.present, s.missing, s.same, k.confmatchtype = 'f', pn.oid <> n.oid, s.others
              FROM pg_constraint k
              JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
              JOIN pg_class p ON p.oid = k.confrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace
             CROSS JOIN LATERAL (
                   SELECT string_agg(format('c.%%I', a.attname), ', ' ORDER BY u.place),
                          string_agg(format('c.%%I IS NOT NULL', a.attname), ' AND ' ORDER BY u.place),
                          string_agg(format('c.%%I IS NULL', a.attname), ' AND ' ORDER BY u.place),
                          string_agg(format('p.%%I OPERATOR(%%I.%%s) c.%%I%%s', b.attname, o.oprnamespace::regnamespace::text, o.oprname, a.attname,
                                            CASE WHEN b.attcollation NOT IN (0, a.attcollation)
                                                 THEN (SELECT format(' COLLATE %%I.%%I', l.collnamespace::regnamespace::text, l.collname) FROM pg_collation l WHERE l.oid = b.attcollation)
                                                 ELSE '' END), ' AND ' ORDER BY u.place),
                          array_agg(quote_ident(b.attname) ORDER BY u.place)
                     FROM unnest(k.conkey, k.confkey, k.conpfeqop) WITH ORDINALITY u (own, other, operator, place)
                     JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.own
                     JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.other
                     JOIN pg_operator o ON o.oid = u.operator) s (own, present, missing, same, others)
             WHERE k.contype = 'f' AND k.conparentid = 0 AND (k.conrelid IN (SELECT oid FROM wanted) OR k.confrelid IN (SELECT oid FROM wanted))
               AND to_jsonb(k) ->> 'conenforced' IS DISTINCT FROM 'false' AND to_jsonb(k) ->> 'conperiod' IS DISTINCT FROM 'true'
             ORDER BY 1, 3, 2
            """;

    private ForeignKeys() {}

    /**
     * A foreign key.
     *
     * @param schema of its table
     * @param table the table that refers
     * @param referred the table it refers to
     * @param isOutside whether that table is in another schema, as reference tables are
     * @param isValid whether it is to hold for all rows
     * @param from the referring table, its columns and conditions, as written in SQL
     */
    public record ForeignKey(
            String schema, String name, String table, String referred, boolean isOutside, boolean isValid, Parts from) {

        /** The referenced columns, as written in SQL. */
        public List<String> referredColumns() {
            return from.referredColumns();
        }

        /** Whether the foreign key is one of this table, given as in SQL with {@code ONLY}. */
        public boolean isFrom(String table) {
            return from.table().equals(table);
        }

        /** Whether the foreign key refers to this table, given as in SQL with {@code ONLY}. */
        public boolean isTo(String table) {
            return from.referred().equals(table);
        }

        /** A condition that the row {@code c} refers to a row of another table, which has the same columns as the referenced one. */
        public String refersTo(String another) {
            return "EXISTS (SELECT FROM %s p WHERE %s)".formatted(another, from.same());
        }
    }

    /** The SQL parts of a foreign key; {@code c} is a referring row, {@code p} a referenced one. */
    record Parts(
            String table,
            String referred,
            String columns,
            String present,
            String missing,
            String same,
            boolean isFull,
            List<String> referredColumns) {

        private String rows(boolean broken) {
            return " FROM %s c WHERE %s".formatted(table, condition(broken));
        }

        private String condition(boolean broken) {
            String refers = "(%s) AND %s EXISTS (SELECT FROM %s p WHERE %s)"
                    .formatted(present, broken ? "NOT" : "", referred, same);
            String incomplete = isFull && broken ? " OR NOT ((%s) OR (%s))".formatted(present, missing) : "";
            return refers + incomplete;
        }
    }

    /**
     * Rows that a foreign key concerns.
     *
     * @param samples the values of a few
     */
    public record Rows(ForeignKey key, long rows, List<String> samples) {}

    /** The foreign keys of these tables, and those that refer to them. */
    public static List<ForeignKey> of(Connection connection, String tables, Object... parameters) throws SQLException {
        return Sql.list(
                connection,
                KEYS.formatted(tables),
                row -> new ForeignKey(
                        row.getString(1),
                        row.getString(2),
                        row.getString(3),
                        row.getString(4),
                        row.getBoolean(13),
                        row.getBoolean(5),
                        new Parts(
                                row.getString(6),
                                row.getString(7),
                                row.getString(8),
                                row.getString(9),
                                row.getString(10),
                                row.getString(11),
                                row.getBoolean(12),
                                List.of((String[]) row.getArray(14).getArray()))),
                parameters);
    }

    /** The foreign keys that are violated. Reads the tables. */
    public static List<Rows> broken(Connection connection, List<ForeignKey> keys) throws SQLException {
        return rows(connection, keys, true);
    }

    /**
     * Keeps others from deleting referenced rows until the transaction ends, as PostgreSQL's own check does; the referring row is {@code c}.
     */
    public static void keepReferred(Connection connection, ForeignKey key, String condition) throws SQLException {
        Parts from = key.from();
        Sql.execute(
                connection,
                "SELECT FROM %s p WHERE EXISTS (SELECT FROM %s c WHERE (%s) AND (%s) AND %s) FOR KEY SHARE OF p"
                        .formatted(from.referred(), from.table(), condition, from.present(), from.same()));
    }

    /** Some of the rows {@code c} that meet a condition and violate a foreign key. */
    public static List<String> broken(Connection connection, ForeignKey key, String condition) throws SQLException {
        return Sql.list(
                connection,
                "SELECT ROW(%s)::text FROM (SELECT c.* FROM %s c WHERE %s) c WHERE %s LIMIT %s"
                        .formatted(
                                key.from().columns(),
                                key.from().table(),
                                condition,
                                key.from().condition(true),
                                SAMPLES),
                row -> row.getString(1));
    }

    /** The foreign keys that existing rows make use of. Reads the tables. */
    public static List<Rows> inUse(Connection connection, List<ForeignKey> keys) throws SQLException {
        return rows(connection, keys, false);
    }

    private static List<Rows> rows(Connection connection, List<ForeignKey> keys, boolean broken) throws SQLException {
        List<Rows> found = new ArrayList<>();
        for (int i = 0; i < keys.size(); i += KEYS_AT_A_TIME) {
            List<ForeignKey> some = keys.subList(i, Math.min(i + KEYS_AT_A_TIME, keys.size()));
            StringBuilder sql = new StringBuilder();
            for (int j = 0; j < some.size(); j++) {
                sql.append(j == 0 ? "" : " UNION ALL ")
                        .append("SELECT " + j + ", count(*)")
                        .append(some.get(j).from().rows(broken));
            }
            Map<Integer, Long> counts = new TreeMap<>();
            Sql.list(connection, sql.toString(), row -> counts.put(row.getInt(1), row.getLong(2)));
            for (Map.Entry<Integer, Long> count : counts.entrySet()) {
                if (count.getValue() > 0) {
                    ForeignKey key = some.get(count.getKey());
                    found.add(new Rows(key, count.getValue(), samples(connection, key.from(), broken)));
                }
            }
        }
        return found;
    }

    private static List<String> samples(Connection connection, Parts key, boolean broken) throws SQLException {
        return Sql.list(
                connection,
                "SELECT ROW(%s)::text%s LIMIT %s".formatted(key.columns(), key.rows(broken), SAMPLES),
                row -> row.getString(1));
    }

    /**
     * Lines that list the chosen foreign keys, one for each key however many schemas have it.
     *
     * @param chosen which to say
     */
    public static List<String> lines(List<Rows> all, Predicate<ForeignKey> chosen) {
        Map<String, List<Rows>> byKey = new TreeMap<>();
        for (Rows rows : all) {
            if (chosen.test(rows.key())) {
                byKey.computeIfAbsent(rows.key().table() + " " + rows.key().name(), name -> new ArrayList<>())
                        .add(rows);
            }
        }
        return byKey.values().stream().map(ForeignKeys::line).toList();
    }

    private static String line(List<Rows> schemas) {
        Rows first = schemas.get(0);
        return String.format(
                "foreign key %s of %s to %s: %s in %s, in %s such as %s",
                first.key().name(),
                first.key().table(),
                first.key().referred(),
                Plural.of(schemas.stream().mapToLong(Rows::rows).sum(), "row"),
                Plural.of(schemas.size(), "shard"),
                first.key().schema(),
                String.join(", ", first.samples()));
    }
}
