/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.assess.Assessment.Obstacle;
import org.shardflake.assess.Assessment.Placement;
import org.shardflake.flyway.AppliedMigrations;
import org.shardflake.jdbc.Sql;

/** Finds obstacles to sharding a table by a key, and their remedies. */
final class Obstacles {

    /** Finds the tables whose statistics are hidden because row-level security hides their rows. */
    private static final String HIDDEN_STATISTICS = """
            SELECT string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY n.nspname, c.relname)
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't' AND c.reltuples > 0
               AND n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema'
               AND (row_security_active(c.oid) OR NOT has_table_privilege(c.oid, 'SELECT'))
               AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
            HAVING count(*) > 0
            """;

    /** The roles that privileges on tables, columns and sequences have been granted to. */
    private static final String GRANTEES = """
            SELECT string_agg(who, ', ' ORDER BY who) FROM (
                SELECT DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END
                  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 CROSS JOIN LATERAL (SELECT c.relacl UNION ALL SELECT a.attacl FROM pg_attribute a WHERE a.attrelid = c.oid) l (acl)
                 CROSS JOIN LATERAL aclexplode(l.acl) g
                 WHERE c.relkind IN ('r', 'p', 'S') AND g.grantee <> c.relowner
                   AND n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema'
                   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')) g (who)
            HAVING count(*) > 0
            """;

    private final Sorting sorting;
    private final SourceTable table;
    private final List<Obstacle> found = new ArrayList<>();

    private Obstacles(Sorting sorting, SourceTable table) {
        this.sorting = sorting;
        this.table = table;
    }

    /**
     * Reads the obstacles that concern neither columns, rows nor constraints of a table, from column 7 of the query of {@link SourceSchema} on.
     */
    static List<Obstacle> oddities(ResultSet row) throws SQLException {
        List<Obstacle> oddities = new ArrayList<>();
        if (row.getBoolean(7)) {
            oddities.add(
                    new Obstacle(
                            "it is partitioned",
                            "shards make tables smaller, so a plain table often suffices; adopt follows partitions that come and go"));
        }
        if (row.getBoolean(8)) {
            oddities.add(new Obstacle(
                    "it has row-level security",
                    "write its policies into the changelog of the shards; they must not look at other tables"));
        }
        if (row.getBoolean(9)) {
            oddities.add(new Obstacle(
                    "it inherits, or is inherited from", "bring the rows together in one table without inheritance"));
        }
        add(
                oddities,
                row.getString(10),
                "it has triggers: %s",
                "write those that the shards need into their changelog; they see the rows of one shard only");
        add(oddities, row.getString(11), "it has rules: %s", "replace them by triggers or by the application");
        add(
                oddities,
                row.getString(12),
                "columns that may hold large objects: %s",
                "keep the bytes in a bytea column: large objects belong to a database, not to a shard");
        return oddities;
    }

    private static void add(List<Obstacle> oddities, @Nullable String names, String problem, String remedy) {
        if (names != null) {
            oddities.add(new Obstacle(problem.formatted(names), remedy));
        }
    }

    static List<Obstacle> of(Sorting sorting, SourceTable table) {
        Obstacles obstacles = new Obstacles(sorting, table);
        if (sorting.isSharded(table.oid())) {
            obstacles.ofSharded();
        } else {
            obstacles.ofOthers();
        }
        return List.copyOf(obstacles.found);
    }

    private void ofSharded() {
        if (table.primaryKey().isEmpty()) {
            add("it has no primary key", "add one: rows are copied in its order and told apart by it");
        }
        Sorting.Place place = sorting.place(table.oid());
        if (place.column() != null && !place.column().isNotNull()) {
            add(
                    "its key %s may be null".formatted(place.column().quoted()),
                    "fill it and make it NOT NULL: a row without a key is in no shard");
        }
        if (place.parent() != null) {
            if (!table.isNotNull(place.parent().columns())) {
                add(
                        "%s, which leads to the key, may be null"
                                .formatted(Sorting.columns(table, place.parent().columns())),
                        "fill it and make it NOT NULL, or choose another way: a row without a key is in no shard");
            }
            List<String> generated = table.generated(place.parent().columns());
            if (!generated.isEmpty()) {
                add(
                        "%s, which leads to the key, is generated, so no trigger of the shards finds the key of a new row"
                                .formatted(Sorting.columns(table, generated)),
                        "give this table a column with the key, or write the generated value as that of an ordinary column");
            }
            add(
                    "it has no column with the key",
                    "add one in the shards, filled from the rows it belongs to, and let the application write it");
        }
        List<SourceTable.Column> others = sorting.otherKeys(table);
        if (!others.isEmpty()) {
            add(
                    "its rows belong to several keys: also by %s"
                            .formatted(String.join(
                                    ", ",
                                    others.stream()
                                            .map(SourceTable.Column::quoted)
                                            .toList())),
                    "have a table for each direction, each with its own key, and write both");
        }
        table.uniques().forEach(this::check);
        table.foreignKeys().forEach(this::check);
        found.addAll(table.oddities());
    }

    private void ofOthers() {
        boolean isReference = sorting.place(table.oid()).placement() == Placement.REFERENCE;
        if (isReference && table.primaryKey().isEmpty()) {
            add("it has no primary key", "add one: a reference table is replicated by it");
        }
        for (SourceTable.ForeignKey key : table.foreignKeys()) {
            if (sorting.isSharded(key.target())) {
                add(
                        "foreign key %s refers to %s, whose rows would be in the shards"
                                .formatted(key.name(), name(key.target())),
                        "drop it: what stays outside of the shards cannot refer to them");
            }
        }
    }

    /** Checks a unique index, which will hold within each shard, but over all shards only if equal values are in the same one. */
    private void check(SourceTable.Unique unique) {
        if (isWithinKey(unique) || (unique.isPrimary() && isGeneratedId())) {
            return;
        }
        String what =
                unique.isExclusion() ? "exclusion constraint" : unique.isPrimary() ? "primary key" : "unique index";
        add("%s %s %s does not contain the key".formatted(what, unique.name(), unique.definition()), remedy(unique));
    }

    private String remedy(SourceTable.Unique unique) {
        if (unique.isExclusion()) {
            return "add the key to it; over all shards nothing can be excluded";
        }
        SourceTable.Column id = table.singleKey();
        return unique.isPrimary() && id != null && id.type().matches("smallint|integer|bigint")
                ? "let next_id fill it, whose ids are unique over all shards, or add the key to it"
                : "if equal values may be in different shards, add the key to it; else a unique lookup keeps them apart";
    }

    private boolean isWithinKey(SourceTable.Unique unique) {
        Sorting.Place place = sorting.place(table.oid());
        if (place.column() != null) {
            return unique.columns().contains(place.column().name());
        }
        return place.parent() != null
                && unique.columns().containsAll(place.parent().columns());
    }

    /** Whether next_id or a UUID can fill the primary key. */
    private boolean isGeneratedId() {
        SourceTable.Column key = table.singleKey();
        return key != null && (key.isFilled() || key.type().equals("uuid")) && key.isKeyable();
    }

    private void check(SourceTable.ForeignKey key) {
        if (!sorting.schema().has(key.target())) {
            return;
        }
        Sorting.Place target = sorting.place(key.target());
        if (target.placement() == Placement.STAYS) {
            add(
                    "foreign key %s refers to %s, which is too large or too remote for a reference table"
                            .formatted(key.name(), name(key.target())),
                    "make that a reference table all the same, shard it, too, or drop the foreign key");
        }
        if (target.placement().isSharded() && !isAlongKey(key)) {
            add(
                    "foreign key %s on %s may lead from one key to another: %s"
                            .formatted(key.name(), Sorting.columns(table, key.columns()), name(key.target())),
                    "keep it if both rows always have the same key, which adopt checks; else drop it");
        }
    }

    private boolean isAlongKey(SourceTable.ForeignKey key) {
        Sorting.Place place = sorting.place(table.oid());
        Sorting.Place target = sorting.place(key.target());
        if (key.equals(place.parent())) {
            return true;
        }
        if (place.column() == null || target.column() == null) {
            return false;
        }
        int i = key.columns().indexOf(place.column().name());
        return i >= 0 && key.targetColumns().get(i).equals(target.column().name());
    }

    private String name(long oid) {
        return sorting.schema().table(oid).name();
    }

    private void add(String problem, String remedy) {
        found.add(new Obstacle(problem, remedy));
    }

    /** Obstacles that do not concern a single table. */
    static List<Obstacle> ofDatabase(Connection connection) throws SQLException {
        List<Obstacle> found = new ArrayList<>();
        list(
                connection,
                found,
                "SELECT count(*)::text FROM pg_largeobject_metadata HAVING count(*) > 0",
                "large objects: %s",
                "keep their bytes in bytea columns: large objects belong to a database, not to a shard");
        list(
                connection,
                found,
                """
                SELECT string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY n.nspname, c.relname)
                  FROM (SELECT c.relname, c.relnamespace FROM pg_class c
                         WHERE c.relkind IN ('v', 'm') AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')) c
                  JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema' HAVING count(*) > 0
                """,
                "views: %s",
                "write those that the shards need into their changelog; each sees one shard, and a gateway sees all");
        list(connection, found, """
                SELECT string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY n.nspname, c.relname)
                  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relkind = 'f' AND n.nspname !~ '^pg_' HAVING count(*) > 0
                """, "foreign tables: %s", "leave them in a database that is not sharded");
        list(
                connection,
                found,
                """
                SELECT string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY n.nspname, c.relname)
                  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relkind = 'S' AND n.nspname !~ '^(pg_|shardflake)'
                   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i', 'e'))
                HAVING count(*) > 0
                """,
                "sequences that belong to no column: %s",
                "numbers of a sequence are unique in one shard only: use next_id, or draw them outside of the shards");
        list(
                connection,
                found,
                """
                SELECT count(*)::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                 WHERE n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema'
                   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
                HAVING count(*) > 0
                """,
                "functions: %s",
                "write those that the shards need into their changelog; tables that they name are those of one shard");
        list(
                connection,
                found,
                """
                SELECT string_agg(p.oid::regprocedure::text, ', ' ORDER BY p.oid::regprocedure::text) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                 WHERE p.prokind IN ('a', 'w') AND n.nspname !~ '^(pg_|shardflake)' AND n.nspname <> 'information_schema'
                   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
                HAVING count(*) > 0
                """,
                "aggregates and window functions: %s",
                "write those that the shards need into their changelog, after the functions that they are made of");
        list(
                connection,
                found,
                GRANTEES,
                "privileges that others than the owners have been granted: of %s",
                "grant what these roles need in the shards, in the changelog or when it is deployed: nothing is granted there");
        list(
                connection,
                found,
                HIDDEN_STATISTICS,
                "statistics that this login may not see, of: %s",
                "assess as a role that may select from them and that bypasses row-level security: how many values a key has, and how common they are, is not known otherwise");
        found.addAll(flyway(connection));
        found.addAll(liquibase(connection));
        return found;
    }

    /** Liquibase's histories in the database, which shards need not take over: theirs begins with the changelog that creates their tables. */
    private static List<Obstacle> liquibase(Connection connection) throws SQLException {
        List<Obstacle> found = new ArrayList<>();
        for (String table : Sql.list(connection, """
                SELECT format('%I.%I', n.nspname, c.relname)
                  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relkind = 'r' AND c.relname = 'databasechangelog' AND n.nspname !~ '^shardflake'
                   AND has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE')
                 ORDER BY 1
                """, row -> row.getString(1))) {
            list(
                    connection,
                    found,
                    "SELECT concat_ws('::', filename, id, author) FROM %s ORDER BY orderexecuted DESC LIMIT 1"
                            .formatted(table),
                    "Liquibase's history, " + table.replace("%", "%%") + ", whose last changeset is %s",
                    "it stays with the old tables; write later changesets into the changelog of the shards' tables, or into one that includes it, and until the rows are adopted, deploy them on both sides");
        }
        return found;
    }

    /** Flyway's histories in the database. */
    private static List<Obstacle> flyway(Connection connection) throws SQLException {
        List<Obstacle> found = new ArrayList<>();
        for (String table : AppliedMigrations.tables(connection)) {
            list(
                    connection,
                    found,
                    "SELECT version FROM %s WHERE success AND version IS NOT NULL ORDER BY installed_rank DESC LIMIT 1"
                            .formatted(table),
                    "Flyway's history, " + table.replace("%", "%%") + ", whose last version is %s",
                    "the table stays; shards take over what it has by a file that comes with the plan, and until the rows are adopted, later migrations are deployed on both sides");
        }
        return found;
    }

    private static void list(Connection connection, List<Obstacle> found, String sql, String problem, String remedy)
            throws SQLException {
        Sql.list(connection, sql, row -> row.getString(1)).stream()
                .map(names -> new Obstacle(problem.formatted(names), remedy))
                .forEach(found::add);
    }
}
