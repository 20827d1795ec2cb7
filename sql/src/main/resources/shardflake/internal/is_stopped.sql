--liquibase formatted sql logicalFilePath:shardflake/internal/is_stopped.sql

--changeset shardflake:is_stopped runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.is_stopped(ticks bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ticks < 0;

COMMENT ON FUNCTION shardflake.is_stopped(bigint) IS 'Whether a tick is of a sequence that gives no ids, since its shard is fenced: see stop_ids';

--rollback DROP FUNCTION shardflake.is_stopped(bigint);
