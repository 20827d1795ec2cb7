--liquibase formatted sql logicalFilePath:shardflake/functions/max_id.sql

--changeset shardflake:max_id runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.max_id(at timestamptz) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (least(greatest(floor(extract(epoch FROM at AT TIME ZONE 'UTC') * 1000::numeric) - shardflake.epoch_ms()::numeric, (-1)::numeric), 1099511627775::numeric)::bigint << 23) | 8388607::bigint; -- 2^23 - 1: the highest shard and sequence

COMMENT ON FUNCTION shardflake.max_id(timestamptz) IS 'The highest id that the millisecond of this time can have, of any shard: WHERE id BETWEEN shardflake.min_id(a) AND shardflake.max_id(b). Before the epoch it is -1, below every id';

--rollback DROP FUNCTION shardflake.max_id(timestamptz);
