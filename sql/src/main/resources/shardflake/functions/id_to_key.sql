--liquibase formatted sql logicalFilePath:shardflake/functions/id_to_key.sql

--changeset shardflake:id_to_key runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.id_to_key(id bigint, shard_count integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    -- ticks * shard_count + shard: different for different ids, as long as the shard is one of shard_count; and with ticks
    -- below 2^50 and at most 2^13 shards it ends at 2^63 - 1.
    RETURN ((id >> 23) * 1024 + (id & 1023)) * shard_count + (id >> 10 & 8191);

COMMENT ON FUNCTION shardflake.id_to_key(bigint, integer) IS
'The key that a new id stands for: a uid of the id''s shard, in an installation with that many shards. Different ids have different keys, and keys increase with the ids of a shard. The DEFAULT of a primary key that is its table''s shard key';

--rollback DROP FUNCTION shardflake.id_to_key(bigint, integer);
