-- What a move brings to the target as it is on the source, since it is seldom a changelog's: owners, privileges, default
-- privileges and comments. With each, the statements that take away what is there and those that set it.
named AS (
    SELECT t.*, (pg_identify_object(t.classid, t.objid, t.objsubid)).identity AS identity, COALESCE(t.acl, acldefault(t.acl_kind, COALESCE(t.owner, 10))) AS items
      FROM thing t),
sequence_of_column AS (
    SELECT d.objid FROM pg_depend d
     WHERE d.classid = 'pg_class'::regclass AND d.objid IN (SELECT objid FROM thing WHERE kind = 'sequence')
       AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')),
multirange AS ( -- which goes with its range
    SELECT t.oid FROM thing m JOIN pg_type t ON t.oid = m.objid AND m.classid = 'pg_type'::regclass WHERE t.typtype = 'm'),
-- A superuser grants as the owner; what others have granted is granted as them.
grants AS (
    SELECT n.schema, 'privileges of ' || n.kind || ' ' || n.name AS object, n.objsubid, n.items,
           CASE WHEN n.objsubid > 0 THEN 'TABLE'
                WHEN n.kind IN ('table', 'view', 'materialized view', 'foreign table') THEN 'TABLE'
                WHEN n.kind IN ('function', 'procedure', 'aggregate') THEN 'ROUTINE'
                WHEN n.kind IN ('type', 'domain') THEN 'TYPE' ELSE upper(n.kind) END AS class,
           CASE WHEN n.objsubid > 0 THEN n.objid::regclass::text ELSE n.identity END AS target,
           CASE WHEN n.objsubid > 0 THEN ' (' || quote_ident((SELECT attname FROM pg_attribute WHERE attrelid = n.objid AND attnum = n.objsubid)) || ')' ELSE '' END AS columns,
           COALESCE(n.owner, (SELECT relowner FROM pg_class WHERE oid = n.objid)) AS owner,
           (SELECT count(*) FROM aclexplode(acldefault(CASE n.acl_kind WHEN 'c' THEN 'r' ELSE n.acl_kind END, 10::oid)) e WHERE e.grantee = 10) AS every
      FROM named n WHERE n.acl_kind IS NOT NULL AND n.objid NOT IN (SELECT oid FROM multirange)),
statements (schema, turn, object, value, clear, put) AS (
    SELECT schema, CASE kind WHEN 'schema' THEN 0 ELSE 1 END, 'owner of ' || kind || ' ' || name, owner::regrole::text, ARRAY[]::text[],
           ARRAY[format('ALTER %s %s OWNER TO %s', CASE WHEN kind IN ('function', 'procedure', 'aggregate') THEN 'ROUTINE' ELSE upper(kind) END, identity, owner::regrole)]
      FROM named
     WHERE owner IS NOT NULL AND objid NOT IN (SELECT objid FROM sequence_of_column)
       AND objid NOT IN (SELECT oid FROM multirange)
     UNION ALL
    SELECT schema, 1, 'owner of ' || kind || ' ' || name, owner::regrole::text, ARRAY[]::text[], -- of which 17 makes its range's
           ARRAY[format('DO %L', format('BEGIN IF current_setting(''server_version_num'')::integer < 170000 THEN ALTER TYPE %s OWNER TO %s; END IF; END', identity, owner::regrole))]
      FROM named WHERE objid IN (SELECT oid FROM multirange)
     UNION ALL
    SELECT schema, CASE WHEN class = 'SCHEMA' THEN 2 WHEN objsubid = 0 THEN 3 ELSE 4 END, object, (SELECT string_agg(i::text, ' ' ORDER BY i::text COLLATE "C") FROM unnest(items) i),
           (SELECT array_agg(DISTINCT format('REVOKE ALL%s ON %s %s FROM %s CASCADE', columns, class, target, CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE e.grantee::regrole::text END))
              FROM aclexplode(items) e),
           (SELECT array_agg(CASE WHEN a.grantor = owner THEN sql ELSE format('SET LOCAL ROLE %s; %s; RESET ROLE', a.grantor::regrole, sql) END
                             ORDER BY a.grantor <> owner, a.position)
              FROM (SELECT e.grantor, min(e.position) AS position,
                           format('GRANT %s ON %s %s TO %s%s',
                                  CASE WHEN count(*) = every AND columns = '' THEN 'ALL' ELSE string_agg(e.privilege_type || columns, ', ') END,
                                  class, target, CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE e.grantee::regrole::text END,
                                  CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) AS sql
                      FROM aclexplode(items) WITH ORDINALITY AS e(grantor, grantee, privilege_type, is_grantable, position)
                     GROUP BY e.grantor, e.grantee, e.is_grantable) a)
      FROM grants
     UNION ALL
    SELECT n.oid, 5, concat_ws(' ', 'default privileges for', d.kind, 'of', d.defaclrole::regrole), d.defaclacl::text,
           (SELECT array_agg(format('ALTER DEFAULT PRIVILEGES FOR ROLE %s IN SCHEMA %I REVOKE ALL ON %s FROM %s', d.defaclrole::regrole, n.name, d.kind,
                                    CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE e.grantee::regrole::text END))
              FROM aclexplode(d.defaclacl) e),
           (SELECT array_agg(format('ALTER DEFAULT PRIVILEGES FOR ROLE %s IN SCHEMA %I GRANT %s ON %s TO %s%s', d.defaclrole::regrole, n.name, e.privilege_type, d.kind,
                                    CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE e.grantee::regrole::text END, CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END))
              FROM aclexplode(d.defaclacl) e)
      FROM shard n
      JOIN (SELECT *, CASE defaclobjtype WHEN 'r' THEN 'tables' WHEN 'S' THEN 'sequences' WHEN 'f' THEN 'functions' ELSE 'types' END AS kind
              FROM pg_default_acl) d ON d.defaclnamespace = n.oid
     UNION ALL
    SELECT c.schema, 6, 'comment on ' || c.kind || ' ' || c.name, d.description,
           ARRAY[format('COMMENT ON %s IS NULL', c.target)], ARRAY[format('COMMENT ON %s IS %L', c.target, d.description)]
      FROM (SELECT n.*,
                   CASE WHEN n.kind IN ('function', 'procedure', 'aggregate') THEN 'ROUTINE ' || n.identity
                        WHEN n.kind = 'constraint' AND k.contypid <> 0 THEN format('CONSTRAINT %I ON DOMAIN %s', k.conname, k.contypid::regtype)
                        ELSE upper(n.kind) || ' ' || n.identity END AS target
              FROM named n LEFT JOIN pg_constraint k ON n.classid = 'pg_constraint'::regclass AND k.oid = n.objid) c
      JOIN pg_description d ON d.objoid = c.objid AND d.classoid = c.classid AND d.objsubid = c.objsubid)
SELECT turn, object, value, COALESCE(clear, '{}'), COALESCE(put, '{}') FROM statements ORDER BY turn, object COLLATE "C"
