--liquibase formatted sql logicalFilePath:shardflake/functions/min_id.sql

--changeset shardflake:min_id runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.min_id(at timestamptz) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    -- numeric, not double precision, so that a whole millisecond stays one; UTC, since extract of a timestamptz is only STABLE
    RETURN least(greatest(floor(extract(epoch FROM at AT TIME ZONE 'UTC') * 1000::numeric) - shardflake.epoch_ms()::numeric, 0::numeric), 1099511627775::numeric)::bigint << 23;

COMMENT ON FUNCTION shardflake.min_id(timestamptz) IS 'The lowest id that the millisecond of this time can have, of any shard: WHERE id >= shardflake.min_id(''2026-01-01 00:00Z''). Times before the epoch or past the last millisecond give the bound of that end';

--rollback DROP FUNCTION shardflake.min_id(timestamptz);
