/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The names of the objects in a shard's schema, which resolve to that schema when it is in the search_path.
 *
 * @param tables tables, views and sequences
 * @param others types and functions; the type of a table's rows has the name of the table
 * @param isPlain whether nothing else there depends on the search_path: there are no operators and the like, and
 *     what a statement on its tables can call, such as a trigger, is known not to look at the path
 */
public record ShardNames(Set<String> tables, Set<String> others, boolean isPlain) {

    /** The names of a schema that could not be read. */
    public static final ShardNames UNKNOWN = new ShardNames(Set.of(), Set.of(), false);

    /**
     * Lists the objects in a schema, including triggers, defaults, checks, policies, rules and indexes. What they call does not look at the
     * path if it is in C, in Shardflake's own schemas, the shard's next_id, or has a path of its own.
     */
    private static final String LOOK = """
            WITH own AS MATERIALIZED (
                SELECT classid, objid FROM pg_catalog.pg_depend
                 WHERE refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass
                   AND refobjid OPERATOR(pg_catalog.=) pg_catalog.to_regnamespace(?)),
            called AS (
                SELECT coalesce(o.oprcode, what.refobjid) AS function
                  FROM own
                  JOIN pg_catalog.pg_depend part ON part.refclassid OPERATOR(pg_catalog.=) own.classid AND part.refobjid OPERATOR(pg_catalog.=) own.objid
                  JOIN pg_catalog.pg_depend what ON what.classid OPERATOR(pg_catalog.=) part.classid AND what.objid OPERATOR(pg_catalog.=) part.objid
                  LEFT JOIN pg_catalog.pg_operator o
                    ON what.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_operator'::pg_catalog.regclass AND o.oid OPERATOR(pg_catalog.=) what.refobjid
                 WHERE what.refclassid OPERATOR(pg_catalog.=) ANY ('{pg_catalog.pg_proc,pg_catalog.pg_operator}'::pg_catalog.regclass[]))
            SELECT ARRAY(SELECT relname::pg_catalog.text FROM own JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) objid
                          WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass),
                   ARRAY(SELECT typname::pg_catalog.text FROM own JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) objid
                          WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass
                          UNION ALL
                         SELECT proname::pg_catalog.text FROM own JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) objid
                          WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass),
                   NOT EXISTS (SELECT FROM own WHERE classid OPERATOR(pg_catalog.<>) ALL ('{pg_catalog.pg_class,pg_catalog.pg_type,pg_catalog.pg_proc,pg_catalog.pg_statistic_ext,pg_catalog.pg_default_acl,pg_catalog.pg_publication_namespace}'::pg_catalog.regclass[]))
               AND NOT EXISTS (SELECT FROM own JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) objid
                                WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass AND a.attnum OPERATOR(pg_catalog.>) 0
                                  AND a.atttypid::pg_catalog.regtype::pg_catalog.text OPERATOR(pg_catalog.~~) 'reg%')
               AND NOT EXISTS (SELECT FROM called JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) called.function
                                 JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
                                 JOIN pg_catalog.pg_language l ON l.oid OPERATOR(pg_catalog.=) p.prolang
                                WHERE l.lanname OPERATOR(pg_catalog.<>) ALL ('{internal,c}'::pg_catalog.name[])
                                  AND n.nspname OPERATOR(pg_catalog.<>) ALL ('{pg_catalog,information_schema,shardflake,shardflake_adopt}'::pg_catalog.name[])
                                  AND NOT (p.proname OPERATOR(pg_catalog.=) 'next_id' AND p.pronamespace OPERATOR(pg_catalog.=) pg_catalog.to_regnamespace(?))
                                  AND NOT EXISTS (SELECT FROM pg_catalog.unnest(p.proconfig) one WHERE one OPERATOR(pg_catalog.~~) 'search\\_path=%'))
            """;

    /** Asks the server for a schema's names, on a connection whose transaction has not failed. */
    public static ShardNames ask(Connection connection, String schema) throws SQLException {
        try (PreparedStatement look = connection.prepareStatement(LOOK)) {
            look.setString(1, schema);
            look.setString(2, schema);
            try (ResultSet row = look.executeQuery()) {
                row.next();
                return new ShardNames(set(row.getArray(1)), set(row.getArray(2)), row.getBoolean(3));
            }
        }
    }

    private static Set<String> set(Array names) throws SQLException {
        Set<String> set = new HashSet<>();
        for (@Nullable String name : (@Nullable String[]) names.getArray()) {
            if (name != null) {
                set.add(name);
            }
        }
        return Set.copyOf(set);
    }

    /** Whether the schema has an object of this name. */
    boolean has(String name) {
        return tables.contains(name) || others.contains(name);
    }
}
