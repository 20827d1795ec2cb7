-- A line for each object and each of its properties: all that pg_dump --schema would write, but for rows and positions of
-- sequences. To be read with an empty search_path, or names would depend on the session. Of a relation's own properties only
-- those are written that are not PostgreSQL's default.
line (schema, kind, object, definition) AS (
    SELECT oid, 'schema', ''::text, ''::text FROM shard
     UNION ALL
    SELECT schema, 'owner of ' || kind, name, owner::regrole::text FROM thing WHERE owner IS NOT NULL
     UNION ALL
    SELECT schema, 'privileges of ' || kind, name, items
      FROM (SELECT t.*, (SELECT COALESCE(string_agg(i::text, ' ' ORDER BY i::text COLLATE "C"), 'none') FROM unnest(t.acl) i) AS items,
                   (SELECT COALESCE(string_agg(i::text, ' ' ORDER BY i::text COLLATE "C"), 'none') FROM unnest(acldefault(t.acl_kind, COALESCE(t.owner, 10))) i) AS usual
              FROM thing t WHERE t.acl IS NOT NULL) a
     WHERE items <> usual
     UNION ALL
    SELECT n.oid, 'default privileges for', concat_ws(' ', CASE d.defaclobjtype WHEN 'r' THEN 'tables' WHEN 'S' THEN 'sequences' WHEN 'f' THEN 'functions' ELSE 'types' END, 'of', d.defaclrole::regrole),
           (SELECT string_agg(i::text, ' ' ORDER BY i::text COLLATE "C") FROM unnest(d.defaclacl) i)
      FROM shard n JOIN pg_default_acl d ON d.defaclnamespace = n.oid
     UNION ALL
    SELECT t.schema, 'comment on ' || t.kind, t.name, d.description
      FROM thing t JOIN pg_description d ON d.objoid = t.objid AND d.classoid = t.classid AND d.objsubid = t.objsubid
     UNION ALL
    SELECT t.schema, 'security label of ' || t.kind, t.name || ' for ' || l.provider, l.label
      FROM thing t JOIN pg_seclabel l ON l.objoid = t.objid AND l.classoid = t.classid AND l.objsubid = t.objsubid
     UNION ALL
    SELECT t.schema, 'extension of ' || t.kind, t.name, string_agg(e.extname, ' ' ORDER BY e.extname)
      FROM thing t JOIN pg_depend d ON d.classid = t.classid AND d.objid = t.objid AND d.objsubid = t.objsubid AND d.deptype IN ('x', 'e')
      JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
     WHERE t.objsubid = 0 GROUP BY t.schema, t.kind, t.name
     UNION ALL
    SELECT r.schema, r.kind, r.relname,
           concat_ws(' ',
               CASE r.relpersistence WHEN 'u' THEN 'UNLOGGED' END,
               CASE WHEN r.reloftype <> 0 THEN 'OF ' || r.reloftype::regtype END,
               CASE WHEN r.relkind = 'p' THEN 'PARTITION BY ' || pg_get_partkeydef(r.oid) END,
               (SELECT CASE WHEN r.relispartition THEN 'PARTITION OF ' ELSE 'INHERITS ' END || string_agg(h.inhparent::regclass::text, ', ' ORDER BY h.inhseqno)
                  FROM pg_inherits h WHERE h.inhrelid = r.oid),
               pg_get_expr(r.relpartbound, r.oid),
               'USING ' || (SELECT NULLIF(m.amname, 'heap') FROM pg_am m WHERE m.oid = r.relam),
               'TABLESPACE ' || (SELECT s.spcname FROM pg_tablespace s WHERE s.oid = r.reltablespace),
               'WITH (' || array_to_string(r.reloptions, ', ') || ')',
               'TOAST WITH (' || (SELECT array_to_string(t.reloptions, ', ') FROM pg_class t WHERE t.oid = r.reltoastrelid) || ')',
               CASE r.relreplident WHEN 'f' THEN CASE WHEN r.relkind IN ('r', 'p', 'm') THEN 'REPLICA IDENTITY FULL' END
                                   WHEN 'n' THEN CASE WHEN r.relkind IN ('r', 'p', 'm') THEN 'REPLICA IDENTITY NOTHING' END END,
               CASE WHEN r.relrowsecurity THEN 'ROW LEVEL SECURITY' END,
               CASE WHEN r.relforcerowsecurity THEN 'FORCE ROW LEVEL SECURITY' END,
               CASE WHEN r.relkind IN ('v', 'm') THEN pg_get_viewdef(r.oid) END,
               CASE WHEN r.relkind = 'S' THEN
                   (SELECT concat_ws(' ', s.seqtypid::regtype, 'INCREMENT', s.seqincrement, 'MINVALUE', s.seqmin, 'MAXVALUE', s.seqmax,
                                     'START', s.seqstart, 'CACHE', s.seqcache, CASE WHEN s.seqcycle THEN 'CYCLE' END,
                                     'OWNED BY ' || (SELECT d.refobjid::regclass || '.' || quote_ident(a.attname)
                                                       FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
                                                      WHERE d.classid = 'pg_class'::regclass AND d.objid = r.oid AND d.objsubid = 0
                                                        AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')))
                      FROM pg_sequence s WHERE s.seqrelid = r.oid) END,
               CASE WHEN r.relkind = 'f' THEN
                   (SELECT concat_ws(' ', 'SERVER', s.srvname, 'OPTIONS (' || array_to_string(f.ftoptions, ', ') || ')')
                      FROM pg_foreign_table f JOIN pg_foreign_server s ON s.oid = f.ftserver WHERE f.ftrelid = r.oid) END)
      FROM rel r
     UNION ALL
    SELECT schema, 'columns of ' || kind, relname, string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM field GROUP BY schema, kind, relname
     UNION ALL
    SELECT f.schema, 'column', f.relname || '.' || f.attname,
           concat_ws(' ', format_type(f.atttypid, f.atttypmod),
                     CASE WHEN f.attcollation <> t.typcollation THEN 'COLLATE ' || f.attcollation::regcollation END,
                     CASE WHEN f.attnotnull THEN 'NOT NULL' END,
                     CASE WHEN f.attgenerated = '' THEN 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)
                          ELSE format('GENERATED ALWAYS AS (%s) %s', pg_get_expr(d.adbin, d.adrelid), CASE f.attgenerated WHEN 's' THEN 'STORED' ELSE 'VIRTUAL' END) END,
                     CASE f.attidentity WHEN 'a' THEN 'GENERATED ALWAYS AS IDENTITY' WHEN 'd' THEN 'GENERATED BY DEFAULT AS IDENTITY' END,
                     CASE WHEN NOT f.attislocal AND NOT f.relispartition THEN 'INHERITED' END,
                     CASE WHEN f.attstorage <> t.typstorage THEN 'STORAGE ' || CASE f.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'x' THEN 'EXTENDED' ELSE 'MAIN' END END,
                     CASE f.attcompression WHEN 'p' THEN 'COMPRESSION pglz' WHEN 'l' THEN 'COMPRESSION lz4' END,
                     'STATISTICS ' || NULLIF(f.attstattarget, -1),
                     'WITH (' || array_to_string(f.attoptions, ', ') || ')',
                     'OPTIONS (' || array_to_string(f.attfdwoptions, ', ') || ')')
      FROM field f JOIN pg_type t ON t.oid = f.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = f.attrelid AND d.adnum = f.attnum
     UNION ALL
    SELECT k.schema, CASE k.contype WHEN 'n' THEN 'not null' ELSE 'constraint' END, k.name,
           concat_ws(' ', pg_get_constraintdef(k.oid),
                     CASE WHEN k.conrelid <> 0 AND NOT k.conislocal AND NOT k.relispartition THEN 'INHERITED' END)
      FROM constraint_ k
     UNION ALL
    SELECT i.schema, 'index', i.relname,
           concat_ws(' ', pg_get_indexdef(i.oid),
                     CASE WHEN NOT i.indisvalid THEN 'INVALID' END,
                     CASE WHEN i.indisclustered THEN 'CLUSTERED' END,
                     CASE WHEN i.indisreplident THEN 'REPLICA IDENTITY' END,
                     'TABLESPACE ' || (SELECT s.spcname FROM pg_tablespace s WHERE s.oid = i.reltablespace),
                     CASE WHEN i.relispartition THEN 'PARTITION OF ' || (SELECT h.inhparent::regclass FROM pg_inherits h WHERE h.inhrelid = i.oid) END,
                     'STATISTICS ' || (SELECT string_agg(a.attnum || ' ' || a.attstattarget, ', ' ORDER BY a.attnum)
                                         FROM pg_attribute a WHERE a.attrelid = i.oid AND a.attstattarget >= 0))
      FROM index i
     UNION ALL
    -- Whether a fence is up is no matter of the schema.
    SELECT t.schema, 'trigger', t.name,
           CASE WHEN t.tgfoid = to_regproc('shardflake.fence_write') THEN regexp_replace(pg_get_triggerdef(t.oid), 'fence_write\(.*\)$', 'fence_write')
                ELSE pg_get_triggerdef(t.oid) || CASE t.tgenabled WHEN 'O' THEN '' WHEN 'D' THEN ' DISABLED' WHEN 'R' THEN ' ENABLED REPLICA' ELSE ' ENABLED ALWAYS' END END
      FROM trigger t
     UNION ALL
    SELECT r.schema, 'triggers of constraint', r.relname || '.' || k.conname, string_agg(DISTINCT t.tgenabled::text, ' ')
      FROM rel r JOIN pg_trigger t ON t.tgrelid = r.oid AND t.tgisinternal AND t.tgenabled <> 'O' JOIN pg_constraint k ON k.oid = t.tgconstraint
     GROUP BY r.schema, r.relname, k.conname
     UNION ALL
    SELECT r.schema, 'rule', r.name,
           pg_get_ruledef(r.oid) || CASE r.ev_enabled WHEN 'O' THEN '' WHEN 'D' THEN ' DISABLED' WHEN 'R' THEN ' ENABLED REPLICA' ELSE ' ENABLED ALWAYS' END
      FROM rule r
     UNION ALL
    SELECT p.schema, 'policy', p.name,
           concat_ws(' ', CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
                     'FOR ' || CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
                     'TO ' || (SELECT string_agg(CASE u WHEN 0 THEN 'public' ELSE u::regrole::text END, ', ' ORDER BY CASE u WHEN 0 THEN 'public' ELSE u::regrole::text END COLLATE "C") FROM unnest(p.polroles) u),
                     'USING (' || pg_get_expr(p.polqual, p.polrelid) || ')', 'WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')
      FROM policy p
     UNION ALL
    SELECT m.schema, CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END, p.oid::regprocedure::text, pg_get_functiondef(p.oid)
      FROM member m JOIN pg_proc p ON p.oid = m.objid WHERE m.classid = 'pg_proc'::regclass AND p.prokind <> 'a'
     UNION ALL
    SELECT m.schema, 'aggregate', p.oid::regprocedure::text,
           concat_ws(' ', pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), p.proparallel, p.provolatile,
                     a.aggkind, a.aggnumdirectargs, a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn,
                     a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn, a.aggfinalextra, a.aggmfinalextra, a.aggfinalmodify, a.aggmfinalmodify,
                     a.aggsortop::regoperator, a.aggtranstype::regtype, a.aggtransspace, a.aggmtranstype::regtype, a.aggmtransspace, quote_nullable(a.agginitval), quote_nullable(a.aggminitval))
      FROM member m JOIN pg_proc p ON p.oid = m.objid JOIN pg_aggregate a ON a.aggfnoid = p.oid WHERE m.classid = 'pg_proc'::regclass
     UNION ALL
    SELECT m.schema, CASE t.typtype WHEN 'd' THEN 'domain' ELSE 'type' END, t.typname,
           CASE t.typtype
               WHEN 'd' THEN concat_ws(' ', format_type(t.typbasetype, t.typtypmod),
                                       CASE WHEN t.typcollation <> b.typcollation THEN 'COLLATE ' || t.typcollation::regcollation END,
                                       CASE WHEN t.typnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(t.typdefaultbin, 0))
               WHEN 'e' THEN 'ENUM (' || COALESCE((SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid), '') || ')'
               WHEN 'c' THEN 'AS (' || COALESCE((SELECT string_agg(concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
                                                                   CASE WHEN a.attcollation <> u.typcollation THEN 'COLLATE ' || a.attcollation::regcollation END), ', ' ORDER BY a.attnum)
                                             FROM pg_attribute a JOIN pg_type u ON u.oid = a.atttypid WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped), '') || ')'
               WHEN 'r' THEN (SELECT concat_ws(' ', 'RANGE OF', format_type(g.rngsubtype, NULL), o.opcnamespace::regnamespace || '.' || o.opcname, NULLIF(g.rngcollation, 0)::regcollation,
                                               'CANONICAL', g.rngcanonical, 'DIFF', g.rngsubdiff, 'MULTIRANGE', g.rngmultitypid::regtype)
                                FROM pg_range g JOIN pg_opclass o ON o.oid = g.rngsubopc WHERE g.rngtypid = t.oid)
               WHEN 'm' THEN 'MULTIRANGE'
               ELSE concat_ws(' ', 'BASE', t.typinput, t.typoutput, t.typreceive, t.typsend, t.typlen, t.typbyval, t.typalign, t.typstorage) END
      FROM member m JOIN pg_type t ON t.oid = m.objid LEFT JOIN pg_type b ON b.oid = t.typbasetype WHERE m.classid = 'pg_type'::regclass
     UNION ALL
    SELECT m.schema, 'statistics', s.stxname, concat_ws(' ', pg_get_statisticsobjdef(s.oid), 'STATISTICS ' || NULLIF(s.stxstattarget, -1))
      FROM member m JOIN pg_statistic_ext s ON s.oid = m.objid WHERE m.classid = 'pg_statistic_ext'::regclass
     UNION ALL
    -- Columns of pg_collation go by other names from version to version.
    SELECT m.schema, 'collation', c.collname,
           concat_ws(' ', c.collprovider, c.collisdeterministic, c.collencoding, c.collcollate, c.collctype, to_jsonb(c) ->> 'collicurules',
                     COALESCE(to_jsonb(c) ->> 'colllocale', to_jsonb(c) ->> 'colliculocale'))
      FROM member m JOIN pg_collation c ON c.oid = m.objid WHERE m.classid = 'pg_collation'::regclass
     UNION ALL
    -- Operators and their classes, text search, conversions, extensions: that they are there, and no more.
    SELECT schema, 'object', pg_describe_object(classid, objid, 0), '' FROM member
     WHERE classid NOT IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass, 'pg_statistic_ext'::regclass, 'pg_collation'::regclass,
                           'pg_default_acl'::regclass, 'pg_publication_namespace'::regclass)
),
-- A shard's own name and number left out, so that shards can be compared. Its next_id once called the library's, which now
-- calls draw_id as they do.
neutral AS (
    SELECT n.number AS shard, kind,
           CASE WHEN object LIKE '%(%' OR kind = 'object' THEN replace(object, n.name || '.', '') ELSE object END AS object,
           CASE WHEN kind = 'constraint' AND object LIKE '%\_of\_shard' THEN regexp_replace(definition, ' = ' || n.number || '\)', ' = @)') -- which the library adds
                WHEN kind = 'comment on schema' THEN regexp_replace(definition, ' ' || n.number || '$', ' @')
                WHEN definition LIKE '%\_id(' || n.number || ',%' THEN
                    regexp_replace(replace(replace(definition, n.name || '.', ''), n.name, '@'), '(next|draw)_id\(' || n.number || ',', 'draw_id(@,')
                WHEN strpos(definition, n.name) > 0 THEN replace(replace(definition, n.name || '.', ''), n.name, '@')
                ELSE definition END AS definition
      FROM line JOIN shard n ON n.oid = line.schema)
