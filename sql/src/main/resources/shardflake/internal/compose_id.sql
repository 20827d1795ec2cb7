--liquibase formatted sql logicalFilePath:shardflake/internal/compose_id.sql

--changeset shardflake:compose_id runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.compose_id(ticks bigint, shard integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((ticks >> 10) << 23) | (shard << 10) | (ticks & 1023);

COMMENT ON FUNCTION shardflake.compose_id(bigint, integer) IS 'The id of a tick in a shard: milliseconds << 23 | shard << 10 | count, where ticks = milliseconds * 1024 + count. Checks nothing';

--rollback DROP FUNCTION shardflake.compose_id(bigint, integer);
