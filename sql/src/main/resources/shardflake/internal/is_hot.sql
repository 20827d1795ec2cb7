--liquibase formatted sql logicalFilePath:shardflake/internal/is_hot.sql

--changeset shardflake:is_hot runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.is_hot(last_value bigint) RETURNS boolean
    LANGUAGE sql VOLATILE PARALLEL SAFE
    -- 2^50 - 1025: the last millisecond is drawn under the lock, where its end is an error that explains itself
    -- What is known beforehand is kept together, so that PostgreSQL adds it up once: now_ticks() - hot_lag()
    RETURN last_value BETWEEN shardflake.clock_ms() * 1024 - (shardflake.epoch_ms() * 1024 + shardflake.hot_lag())
        AND 1125899906841599;

COMMENT ON FUNCTION shardflake.is_hot(bigint) IS 'Whether a sequence with this last value keeps up with the clock, so that an id may be drawn with a plain nextval. NULL for a sequence never drawn from';

--rollback DROP FUNCTION shardflake.is_hot(bigint);
