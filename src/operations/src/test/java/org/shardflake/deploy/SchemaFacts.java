/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;

/** What PostgreSQL itself says of a schema, line by line: a second opinion, independent of what a deployment compares by. */
public final class SchemaFacts {

    private static final String FACTS = """
            WITH s AS (SELECT ?::regnamespace AS oid),
            c AS (SELECT c.* FROM pg_class c, s WHERE c.relnamespace = s.oid)
            SELECT concat_ws(' ', 'relation', relkind, relname, relpersistence, relrowsecurity, relforcerowsecurity, relreplident, reloptions, relacl, pg_get_userbyid(relowner), pg_get_expr(relpartbound, oid), pg_get_partkeydef(oid), obj_description(oid, 'pg_class')) FROM c
             UNION ALL
            SELECT concat_ws(' ', 'column', c.relname, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attstorage, a.attcompression, a.attstattarget, a.attacl,
                   pg_get_expr(d.adbin, d.adrelid), (SELECT collname FROM pg_collation WHERE oid = a.attcollation), col_description(c.oid, a.attnum))
              FROM c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
             UNION ALL
            SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, contype, pg_get_constraintdef(k.oid), convalidated, condeferrable, condeferred, conislocal, coninhcount, obj_description(k.oid, 'pg_constraint')) FROM pg_constraint k, s WHERE connamespace = s.oid
             UNION ALL
            SELECT concat_ws(' ', 'index', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisready, i.indisclustered, i.indisreplident, i.indimmediate, obj_description(i.indexrelid, 'pg_class')) FROM c JOIN pg_index i ON i.indrelid = c.oid
             UNION ALL
            SELECT concat_ws(' ', 'view', relname, pg_get_viewdef(oid)) FROM c WHERE relkind IN ('v', 'm')
             UNION ALL
            SELECT concat_ws(' ', 'rule', pg_get_ruledef(r.oid), r.ev_enabled) FROM pg_rewrite r JOIN c ON c.oid = r.ev_class WHERE r.rulename <> '_RETURN'
             UNION ALL
            SELECT concat_ws(' ', 'sequence', c.relname, seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle, (SELECT refobjid::regclass || ' ' || refobjsubid FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND deptype IN ('a', 'i') AND refclassid = 'pg_class'::regclass)) FROM c JOIN pg_sequence q ON q.seqrelid = c.oid
             UNION ALL
            SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), tgenabled) FROM pg_trigger t JOIN c ON c.oid = t.tgrelid WHERE NOT tgisinternal
             UNION ALL
            SELECT concat_ws(' ', 'function', CASE WHEN prokind <> 'a' THEN pg_get_functiondef(p.oid) ELSE p.oid::regprocedure::text END, proacl, pg_get_userbyid(proowner), obj_description(p.oid, 'pg_proc')) FROM pg_proc p, s WHERE pronamespace = s.oid
             UNION ALL
            SELECT concat_ws(' ', 'aggregate', a.aggfnoid, aggtransfn, aggtranstype::regtype, agginitval) FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid, s WHERE pronamespace = s.oid
             UNION ALL
            SELECT concat_ws(' ', 'type', t.oid::regtype, typtype, typbasetype::regtype, typnotnull, typdefault, typacl, (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid), obj_description(t.oid, 'pg_type')) FROM pg_type t, s WHERE typnamespace = s.oid
             UNION ALL
            SELECT concat_ws(' ', 'policy', c.relname, polname, polcmd, polpermissive, polroles::text, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) FROM pg_policy p JOIN c ON c.oid = p.polrelid
             UNION ALL
            SELECT concat_ws(' ', 'statistics', pg_get_statisticsobjdef(x.oid), stxstattarget) FROM pg_statistic_ext x, s WHERE stxnamespace = s.oid
             UNION ALL
            SELECT concat_ws(' ', 'collation', collname, collprovider, collcollate) FROM pg_collation, s WHERE collnamespace = s.oid
             UNION ALL
            SELECT concat_ws(' ', 'inherits', inhrelid::regclass, inhparent::regclass, inhseqno) FROM pg_inherits JOIN c ON c.oid = inhrelid
             UNION ALL
            SELECT concat_ws(' ', 'default privileges', defaclobjtype, defaclacl) FROM pg_default_acl, s WHERE defaclnamespace = s.oid
            """;

    private SchemaFacts() {}

    /** The facts, sorted; the same for shards whose schemas differ in nothing but their number. */
    public static List<String> of(Connection connection, int shard) throws SQLException {
        String schema = Sharding.schema(shard);
        return Sql.list(connection, FACTS, row -> row.getString(1), schema).stream()
                .map(fact -> fact.replace(schema, "shard")
                        .replaceAll("\\b%s\\b(?=\\)|,|'|::)".formatted(shard), "N")
                        .replaceAll("pg_toast_\\d+", "pg_toast"))
                .sorted()
                .toList();
    }
}
