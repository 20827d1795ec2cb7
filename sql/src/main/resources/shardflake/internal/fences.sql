--liquibase formatted sql logicalFilePath:shardflake/internal/fences.sql

--changeset shardflake:fences runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.fences(shard integer) RETURNS TABLE (target regclass, present boolean, fenced boolean)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 20 -- not 1000, for which indexes would not be used
    SET search_path = pg_catalog, pg_temp
AS $$
    -- By name, so that all who lock a shard's tables do it in one order.
    SELECT c.oid::regclass, t.oid IS NOT NULL, COALESCE(t.tgenabled IN ('O', 'A') AND t.tgargs <> decode('646f776e00', 'hex'), false) -- see fence_write
      FROM shardflake.relations(shard) relation
      JOIN pg_class c ON c.oid = relation
      LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgfoid = 'shardflake.fence_write'::regproc
     WHERE c.relkind IN ('r', 'p')
     ORDER BY c.relname COLLATE "C"
$$;

COMMENT ON FUNCTION shardflake.fences(integer) IS
'Internal: the tables of a shard, whether each has a fence, and whether that is up';

REVOKE EXECUTE ON FUNCTION shardflake.fences(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.fences(integer);
