--liquibase formatted sql logicalFilePath:shardflake/functions/shard_schema.sql

--changeset shardflake:shard_schema runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.shard_schema(shard integer) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN 'shard_' || lpad(shard::text, 4, '0');

COMMENT ON FUNCTION shardflake.shard_schema(integer) IS 'The name of a shard''s schema: shard_0007 for shard 7';

--rollback DROP FUNCTION shardflake.shard_schema(integer);
