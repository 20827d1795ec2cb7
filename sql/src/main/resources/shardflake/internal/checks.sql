--liquibase formatted sql logicalFilePath:shardflake/internal/checks.sql

--changeset shardflake:checks runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.checks(shard integer)
    RETURNS TABLE (target regclass, column_name name, shard_count integer, check_name name, expression text, present boolean, validated boolean)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 20 -- not 1000, for which indexes would not be used
    SET search_path = pg_catalog, pg_temp
AS $$
    -- An id is told by its DEFAULT, unless it is the table's key. Partitions have the checks of their table.
    SELECT c.oid::regclass, a.attname, CASE WHEN NOT a.makes_ids THEN u.shard_count END, n.check_name,
           CASE WHEN a.makes_ids THEN format('(%I >> 10 & 8191) = %s', a.attname, shard)
                ELSE format('((%1$I %% %2$s) + %2$s) %% %2$s = %3$s', a.attname, u.shard_count, shard) END,
           k.oid IS NOT NULL, COALESCE(k.convalidated, false)
      FROM shardflake.relations(shard) relation
      JOIN pg_class c ON c.oid = relation AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      LEFT JOIN shardflake.uid_column u ON true
      LEFT JOIN shardflake.shard_keys(shard) y ON y.target = c.oid
     CROSS JOIN LATERAL (
           SELECT attname, attnum,
                  atttypid = 'bigint'::regtype AND (y.said AND attname = y.column_name) IS NOT TRUE AND EXISTS (
                      SELECT FROM pg_attrdef d
                        JOIN pg_depend e ON e.classid = 'pg_attrdef'::regclass AND e.objid = d.oid AND e.refclassid = 'pg_proc'::regclass
                        JOIN pg_proc p ON p.oid = e.refobjid AND p.proname IN ('next_id', 'draw_id')
                       WHERE d.adrelid = c.oid AND d.adnum = attnum AND p.pronamespace IN (c.relnamespace, 'shardflake'::regnamespace)) AS makes_ids
             FROM pg_attribute
            WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
              AND (atthasdef OR attname = y.column_name)
              AND atttypid IN ('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)) a
     CROSS JOIN LATERAL (SELECT shardflake.check_name(a.attname)) n (check_name)
      LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.conname = n.check_name
     WHERE a.makes_ids OR a.attname = y.column_name AND u.shard_count IS NOT NULL
     ORDER BY c.relname COLLATE "C", a.attnum
$$;

COMMENT ON FUNCTION shardflake.checks(integer) IS
'Internal: the columns of a shard''s tables that say which shard a row belongs to, ids (shard_count is null) and the uid, and whether a check holds them to it';

REVOKE EXECUTE ON FUNCTION shardflake.checks(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.checks(integer);
