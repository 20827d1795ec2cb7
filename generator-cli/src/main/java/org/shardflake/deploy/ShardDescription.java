/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;

/**
 * What is in the schemas of shards, read from PostgreSQL's catalog: a line for each column, constraint, index, trigger,
 * sequence, view, function, type and grant, with the schema's own name and the shard's number left out, so that shards can
 * be compared.
 */
final class ShardDescription {

    /**
     * Whether a fence is up is no matter of the schema, and which id comes next neither. A shard's own {@code next_id} once called
     * the library's, which now calls {@code draw_id} as they do.
     */
    private static final String LINES = """
            WITH shard AS (SELECT oid, nspname AS name, right(nspname, 4)::integer AS number, nspacl AS acl
                             FROM pg_namespace WHERE nspname = ANY (?)),
            line (schema, kind, object, definition) AS (
                SELECT n.oid, 'schema', '', COALESCE(array_to_string(n.acl, ' '), '') FROM shard n
                UNION ALL
                SELECT n.oid,
                       CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' ELSE 'relation' END,
                       c.relname,
                       concat_ws(' ', c.relkind, c.relpersistence, c.relreplident, c.relrowsecurity, array_to_string(c.reloptions, ' '), array_to_string(c.relacl, ' '),
                                 CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END,
                                 (SELECT concat_ws(' ', s.seqtypid::regtype, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle) FROM pg_sequence s WHERE s.seqrelid = c.oid))
                  FROM shard n JOIN pg_class c ON c.relnamespace = n.oid WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
                UNION ALL
                SELECT n.oid, 'column', c.relname || '.' || a.attname,
                       concat_ws(' ', format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'NOT NULL' END,
                                 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), NULLIF(a.attidentity, ''), NULLIF(a.attgenerated, ''),
                                 CASE WHEN a.attcollation <> (SELECT typcollation FROM pg_type WHERE oid = a.atttypid) THEN 'COLLATE ' || a.attcollation::regcollation END,
                                 array_to_string(a.attacl, ' '))
                  FROM shard n JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'f')
                  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
                UNION ALL
                SELECT n.oid, 'constraint', c.relname || '.' || k.conname,
                       pg_get_constraintdef(k.oid) || CASE WHEN k.convalidated THEN '' ELSE ' not validated' END
                  FROM shard n JOIN pg_constraint k ON k.connamespace = n.oid AND k.contype <> 'n'
                  JOIN pg_class c ON c.oid = k.conrelid
                UNION ALL
                SELECT n.oid, 'index', i.relname, pg_get_indexdef(x.indexrelid) || CASE WHEN x.indisvalid THEN '' ELSE ' invalid' END
                  FROM shard n JOIN pg_class i ON i.relnamespace = n.oid JOIN pg_index x ON x.indexrelid = i.oid
                UNION ALL
                SELECT n.oid, 'trigger', c.relname || '.' || t.tgname,
                       pg_get_triggerdef(t.oid) || CASE WHEN t.tgfoid = to_regproc('shardflake.fence_write') THEN '' ELSE ' ' || t.tgenabled::text END
                  FROM shard n JOIN pg_class c ON c.relnamespace = n.oid JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal
                UNION ALL
                SELECT n.oid, 'function', p.oid::regprocedure::text, pg_get_functiondef(p.oid) || COALESCE(array_to_string(p.proacl, ' '), '')
                  FROM shard n JOIN pg_proc p ON p.pronamespace = n.oid WHERE p.prokind IN ('f', 'p')
                UNION ALL
                SELECT n.oid, 'type', t.typname,
                       concat_ws(' ', t.typtype, format_type(t.typbasetype, t.typtypmod), (SELECT string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid))
                  FROM shard n JOIN pg_type t ON t.typnamespace = n.oid WHERE t.typtype IN ('e', 'd')
            ),
            neutral AS (
                SELECT n.number AS shard,
                       kind,
                       replace(object, n.name || '.', '') AS object,
                       regexp_replace(replace(replace(definition, n.name || '.', ''), n.name, '@'), '(next|draw)_id\\(' || n.number || ',', 'draw_id(@,') AS definition
                  FROM line JOIN shard n ON n.oid = line.schema
            )
            """;

    private static final String FINGERPRINTS = LINES
            + "SELECT shard, md5(string_agg(concat_ws(' ', kind, object, definition), E'\\n' ORDER BY kind, object, definition COLLATE \"C\"))"
            + " FROM neutral GROUP BY shard";

    private static final String DESCRIBE = LINES
            + "SELECT kind || ' ' || object, definition FROM neutral ORDER BY kind, object, definition COLLATE \"C\"";

    private ShardDescription() {}

    /** A hash for each shard that is there; shards of equal schemas have equal ones. */
    static Map<Integer, String> fingerprints(Connection connection, ShardSet shards) throws SQLException {
        Map<Integer, String> fingerprints = new TreeMap<>();
        query(connection, FINGERPRINTS, shards, row -> fingerprints.put(row.getInt(1), row.getString(2)));
        return fingerprints;
    }

    /** The definitions in a shard, by object. */
    static Map<String, String> describe(Connection connection, int shard) throws SQLException {
        Map<String, String> definitions = new TreeMap<>();
        query(
                connection,
                DESCRIBE,
                ShardSet.of(shard),
                row -> definitions.merge(row.getString(1), row.getString(2), (one, other) -> one + "; " + other));
        return definitions;
    }

    @FunctionalInterface
    private interface RowConsumer {
        void accept(ResultSet row) throws SQLException;
    }

    private static void query(Connection connection, String sql, ShardSet shards, RowConsumer rows)
            throws SQLException {
        List<String> schemas = new ArrayList<>();
        shards.stream().forEach(shard -> schemas.add(Sharding.schema(shard)));
        Array names = connection.createArrayOf("text", schemas.toArray());
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setArray(1, names);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    rows.accept(row);
                }
            }
        }
    }
}
