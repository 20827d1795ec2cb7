-- What is in the schemas of shards; the parameter are the schemas. Another file goes on from here.
WITH shard AS MATERIALIZED (
    SELECT oid, nspname AS name, right(nspname, 4)::integer AS number, nspowner, nspacl FROM pg_namespace WHERE nspname = ANY (?)),
-- By what depends on the schema: for that there is an index, and none on the schema in pg_class, pg_proc and pg_type.
member AS MATERIALIZED (
    SELECT n.oid AS schema, d.classid, d.objid
      FROM shard n JOIN pg_depend d ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid),
rel AS MATERIALIZED (
    SELECT m.schema, c.*,
           CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table'
                          ELSE 'table' END AS kind
      FROM member m JOIN pg_class c ON c.oid = m.objid
     WHERE m.classid = 'pg_class'::regclass AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')),
composite AS MATERIALIZED ( -- whose attributes are in pg_class too
    SELECT m.schema, t.oid, t.typname, t.typrelid
      FROM member m JOIN pg_type t ON t.oid = m.objid WHERE m.classid = 'pg_type'::regclass AND t.typtype = 'c'),
index AS MATERIALIZED (
    SELECT r.schema, i.oid, i.relname, i.reltablespace, i.relispartition, x.indisvalid, x.indisclustered, x.indisreplident, x.indnkeyatts
      FROM rel r JOIN pg_index x ON x.indrelid = r.oid JOIN pg_class i ON i.oid = x.indexrelid),
field AS MATERIALIZED (
    SELECT r.schema, r.kind, r.relname, r.relispartition, r.relkind, a.*
      FROM rel r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE r.relkind <> 'S'),
rule AS MATERIALIZED (
    SELECT r.schema, r.relname || '.' || w.rulename AS name, w.oid, w.ev_enabled
      FROM rel r JOIN pg_rewrite w ON w.ev_class = r.oid WHERE w.rulename <> '_RETURN'),
policy AS MATERIALIZED (
    SELECT r.schema, r.relname || '.' || p.polname AS name, p.* FROM rel r JOIN pg_policy p ON p.polrelid = r.oid),
trigger AS MATERIALIZED (
    SELECT r.schema, r.relname || '.' || t.tgname AS name, t.* FROM rel r JOIN pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal),
constraint_ AS MATERIALIZED (
    SELECT r.schema, r.relname || '.' || k.conname AS name, r.relispartition, k.* FROM rel r JOIN pg_constraint k ON k.conrelid = r.oid
     UNION ALL
    SELECT m.schema, t.typname || '.' || k.conname, false, k.*
      FROM member m JOIN pg_type t ON t.oid = m.objid JOIN pg_constraint k ON k.contypid = t.oid
     WHERE m.classid = 'pg_type'::regclass AND t.typtype = 'd'),
-- What has an owner, privileges, a comment or a security label; acldefault takes the last. The name is text: of type name, longer ones would be cut.
thing (schema, classid, objid, objsubid, kind, name, owner, acl, acl_kind) AS MATERIALIZED (
    SELECT oid, 'pg_namespace'::regclass, oid, 0, 'schema', ''::text, nspowner, nspacl, 'n'::"char" FROM shard
     UNION ALL
    SELECT schema, 'pg_class'::regclass, oid, 0, kind, relname, relowner, relacl, CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r'::"char" END FROM rel
     UNION ALL
    SELECT schema, 'pg_class'::regclass, attrelid, attnum, 'column', relname || '.' || attname, NULL, attacl, 'c'::"char" FROM field
     UNION ALL
    SELECT c.schema, 'pg_class'::regclass, a.attrelid, a.attnum, 'column', c.typname || '.' || a.attname, NULL, NULL, NULL
      FROM composite c JOIN pg_attribute a ON a.attrelid = c.typrelid AND a.attnum > 0 AND NOT a.attisdropped
     UNION ALL
    SELECT m.schema, m.classid, p.oid, 0, CASE p.prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' ELSE 'function' END,
           p.oid::regprocedure::text, p.proowner, p.proacl, 'f'::"char"
      FROM member m JOIN pg_proc p ON p.oid = m.objid WHERE m.classid = 'pg_proc'::regclass
     UNION ALL
    SELECT m.schema, m.classid, t.oid, 0, CASE t.typtype WHEN 'd' THEN 'domain' ELSE 'type' END, t.typname, t.typowner, t.typacl, 'T'::"char"
      FROM member m JOIN pg_type t ON t.oid = m.objid WHERE m.classid = 'pg_type'::regclass
     UNION ALL
    SELECT m.schema, m.classid, s.oid, 0, 'statistics', s.stxname, s.stxowner, NULL, NULL
      FROM member m JOIN pg_statistic_ext s ON s.oid = m.objid WHERE m.classid = 'pg_statistic_ext'::regclass
     UNION ALL
    SELECT m.schema, m.classid, c.oid, 0, 'collation', c.collname, c.collowner, NULL, NULL
      FROM member m JOIN pg_collation c ON c.oid = m.objid WHERE m.classid = 'pg_collation'::regclass
     UNION ALL
    SELECT schema, 'pg_class'::regclass, oid, 0, 'index', relname, NULL, NULL, NULL FROM index
     UNION ALL
    SELECT schema, 'pg_constraint'::regclass, oid, 0, 'constraint', name, NULL, NULL, NULL FROM constraint_
     UNION ALL
    SELECT schema, 'pg_trigger'::regclass, oid, 0, 'trigger', name, NULL, NULL, NULL FROM trigger
     UNION ALL
    SELECT schema, 'pg_rewrite'::regclass, oid, 0, 'rule', name, NULL, NULL, NULL FROM rule
     UNION ALL
    SELECT schema, 'pg_policy'::regclass, oid, 0, 'policy', name, NULL, NULL, NULL FROM policy)
