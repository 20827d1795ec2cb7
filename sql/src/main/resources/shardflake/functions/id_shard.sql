--liquibase formatted sql logicalFilePath:shardflake/functions/id_shard.sql

--changeset shardflake:id_shard runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.id_shard(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (id >> 10 & 8191::bigint)::integer;

COMMENT ON FUNCTION shardflake.id_shard(bigint) IS 'The shard an id was made in: 0..8191';

--rollback DROP FUNCTION shardflake.id_shard(bigint);
