--liquibase formatted sql logicalFilePath:shardflake/internal/is_shard.sql

--changeset shardflake:is_shard runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.is_shard(shard integer) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN shard BETWEEN 0 AND 8191;

COMMENT ON FUNCTION shardflake.is_shard(integer) IS 'Whether the number fits the 13 bits of a shard: 0..8191';

--rollback DROP FUNCTION shardflake.is_shard(integer);
