--liquibase formatted sql logicalFilePath:shardflake/functions/is_fenced.sql

--changeset shardflake:is_fenced runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.is_fenced(shard integer) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT COALESCE(bool_or(fenced), false) FROM shardflake.fences(shard)
$$;

COMMENT ON FUNCTION shardflake.is_fenced(integer) IS
'Whether this server refuses writes to any table of a shard (0..8191); false when the shard is not here';

REVOKE EXECUTE ON FUNCTION shardflake.is_fenced(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.is_fenced(integer);
