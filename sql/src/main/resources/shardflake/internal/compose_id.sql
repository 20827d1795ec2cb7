--liquibase formatted sql logicalFilePath:shardflake/internal/compose_id.sql

--changeset shardflake:compose_id runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.compose_id(ticks bigint, shard integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    -- As a sum, since no bits overlap: two operators less. The milliseconds are in ticks already, 2^10 times, and belong there 2^23 times.
    RETURN ticks + (ticks >> 10) * 8387584 + shard * 1024;

COMMENT ON FUNCTION shardflake.compose_id(bigint, integer) IS 'The id of a tick in a shard: milliseconds << 23 | shard << 10 | count, where ticks = milliseconds * 1024 + count. Checks nothing';

--rollback DROP FUNCTION shardflake.compose_id(bigint, integer);
