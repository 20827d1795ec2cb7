--liquibase formatted sql logicalFilePath:shardflake/internal/outside_dependents.sql

--changeset shardflake:outside_dependents runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.outside_dependents(shard integer) RETURNS SETOF text
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    -- What DROP SCHEMA ... CASCADE would reach: all that depends on something dropped, and what that is a part of, as a view is of its rule.
    WITH RECURSIVE home AS (SELECT to_regnamespace(shardflake.shard_schema(shard)) AS oid),
    dropped (classid, objid, objsubid) AS (
        SELECT 'pg_namespace'::regclass::oid, oid::oid, 0 FROM home
         UNION
        SELECT n.classid, n.objid, n.objsubid
          FROM dropped p
         CROSS JOIN LATERAL (
               SELECT d.classid, d.objid, d.objsubid FROM pg_depend d
                WHERE d.refclassid = p.classid AND d.refobjid = p.objid AND (p.objsubid = 0 OR d.refobjsubid = p.objsubid)
                UNION ALL
               SELECT d.refclassid, d.refobjid, d.refobjsubid FROM pg_depend d
                WHERE d.classid = p.classid AND d.objid = p.objid AND d.objsubid = p.objsubid AND d.deptype IN ('i', 'e')) n),
    placed AS (
        SELECT d.*, COALESCE(
                   (SELECT to_regnamespace(i.schema)::oid FROM pg_identify_object(d.classid, d.objid, d.objsubid) i),
                   (SELECT c.relnamespace FROM pg_class c
                     WHERE c.oid = CASE d.classid WHEN 'pg_rewrite'::regclass THEN (SELECT ev_class FROM pg_rewrite WHERE oid = d.objid AND rulename <> '_RETURN')
                                                  WHEN 'pg_trigger'::regclass THEN (SELECT tgrelid FROM pg_trigger WHERE oid = d.objid AND NOT tgisinternal)
                                                  WHEN 'pg_policy'::regclass THEN (SELECT polrelid FROM pg_policy WHERE oid = d.objid)
                                                  WHEN 'pg_attrdef'::regclass THEN (SELECT adrelid FROM pg_attrdef WHERE oid = d.objid) END)) AS namespace
          FROM dropped d)
    SELECT pg_describe_object(p.classid, p.objid, p.objsubid)
      FROM placed p CROSS JOIN home
     WHERE p.classid IN ('pg_extension'::regclass, 'pg_event_trigger'::regclass)
        OR p.namespace <> home.oid AND p.namespace <> 'pg_toast'::regnamespace
           -- A table's own types come and go with it.
           AND NOT (p.classid = 'pg_type'::regclass AND EXISTS (
                   SELECT FROM pg_type t WHERE t.oid = p.objid AND (t.typcategory = 'A' OR t.typrelid <> 0 AND EXISTS (
                       SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind <> 'c'))))
     ORDER BY 1
$$;

COMMENT ON FUNCTION shardflake.outside_dependents(integer) IS
'Internal: what is outside of a shard''s schema and would be dropped with it, such as a view or a foreign key of another schema''s table';

-- Not revoked from PUBLIC: a role that was granted drop_shard needs it too, and it reads what every role may read.

--rollback DROP FUNCTION shardflake.outside_dependents(integer);
