/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.shardflake.jdbc.Sql;

/**
 * Finds changes that a transaction made outside the schemas of shards, by reading PostgreSQL's catalog, which also covers SQL assembled at run
 * time.
 */
final class OutsideShard {

    private static final String MADE = """
            WITH mine AS (SELECT pg_catalog.pg_current_xact_id()::xid AS id),
            object (classid, oid, namespace, what) AS (
                SELECT 'pg_namespace'::regclass, n.oid, n.nspname, 'schema ' || quote_ident(n.nspname)
                  FROM pg_catalog.pg_namespace n, mine WHERE n.xmin = mine.id
                 UNION ALL
                SELECT 'pg_class'::regclass, c.oid, n.nspname, format('%I.%I', n.nspname, c.relname)
                  FROM mine, pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.xmin = mine.id AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
                 UNION ALL
                SELECT 'pg_proc'::regclass, p.oid, n.nspname, format('function %I.%I', n.nspname, p.proname)
                  FROM mine, pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE p.xmin = mine.id
                 UNION ALL
                SELECT 'pg_type'::regclass, t.oid, n.nspname, format('type %I.%I', n.nspname, t.typname)
                  FROM mine, pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
                 WHERE t.xmin = mine.id AND t.typtype IN ('e', 'd', 'r', 'b') AND t.typelem = 0)
            SELECT what FROM object o
             WHERE namespace !~ '^(shard_[0-9]{4}$|pg_|shardflake|reference$|information_schema$)' AND (namespace <> 'public' OR NOT ?)
               AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = o.classid AND d.objid = o.oid AND d.deptype = 'e')
               AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class f ON f.oid = k.conrelid
                                WHERE k.confrelid = o.oid AND o.classid = 'pg_class'::regclass AND f.xmin = (SELECT id FROM mine))
             ORDER BY 1 LIMIT 10
            """;

    /** Finds tables written by the current transaction, as PostgreSQL counts them. */
    private static final String WRITTEN = """
            SELECT format('%I.%I', schemaname, relname) FROM pg_catalog.pg_stat_xact_user_tables
             WHERE n_tup_ins + n_tup_upd + n_tup_del > 0
               AND schemaname !~ '^(shard_[0-9]{4}$|pg_|shardflake|information_schema$)' AND (schemaname <> 'public' OR NOT ?)
             ORDER BY 1 LIMIT 10
            """;

    /** The views of a shard that lead to reference tables, directly or through other views. */
    private static final String VIEWS = """
            WITH RECURSIVE over (oid) AS (
                SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relnamespace = to_regnamespace('reference')
                 UNION
                SELECT r.ev_class FROM over o
                  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = o.oid AND d.classid = 'pg_rewrite'::regclass
                  JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid)
            SELECT c.relname FROM over o JOIN pg_catalog.pg_class c ON c.oid = o.oid
             WHERE c.relnamespace = to_regnamespace(?) AND c.relkind = 'v' AND pg_catalog.pg_relation_is_updatable(c.oid, true) & 28 <> 0
            """;

    private static final String FUNCTIONS = """
            SELECT p.proname, p.prosrc FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
             WHERE p.pronamespace = to_regnamespace(?) AND l.lanname IN ('sql', 'plpgsql') ORDER BY p.proname
            """;

    private OutsideShard() {}

    /**
     * Finds functions that write to reference tables through a view, which is wrong since a shard's server is seldom the one that takes these
     * writes.
     */
    private static Optional<StrayUse> writingFunction(Connection connection, String schema) throws SQLException {
        Set<String> views = Set.copyOf(Sql.list(connection, VIEWS, row -> row.getString(1), schema));
        if (views.isEmpty()) {
            return Optional.empty();
        }
        for (String[] function :
                Sql.list(connection, FUNCTIONS, row -> new String[] {row.getString(1), row.getString(2)}, schema)) {
            Optional<String> view = StraySql.writesTo(function[1], views);
            if (view.isPresent()) {
                StrayUse use = StraySql.writesReference("a table of schema reference through view " + view.get());
                return Optional.of(
                        new StrayUse("has a function %s that %s".formatted(function[0], use.what()), use.advice()));
            }
        }
        return Optional.empty();
    }

    /** The first change outside the shard, if any. */
    static Optional<StrayUse> find(Connection connection, String schema, boolean allowPublic) throws SQLException {
        List<String> made = Sql.list(connection, MADE, row -> row.getString(1), allowPublic);
        if (!made.isEmpty()) {
            return Optional.of(new StrayUse(
                    "creates or changes %s, outside the shard's schema, which all shards of a server share: leave the schema out, and the shard's own is meant"
                            .formatted(String.join(", ", made)),
                    null));
        }
        List<String> written = Sql.list(connection, WRITTEN, row -> row.getString(1), allowPublic);
        if (written.stream().anyMatch(table -> table.startsWith(ReferenceChangelog.SCHEMA + "."))) {
            return Optional.of(StraySql.writesReference(String.join(", ", written)));
        }
        return written.isEmpty()
                ? writingFunction(connection, schema)
                : Optional.of(new StrayUse(
                        "writes to %s, outside the shard's schema, and every shard would do so: leave the schema out, and the shard's own is meant"
                                .formatted(String.join(", ", written)),
                        null));
    }
}
