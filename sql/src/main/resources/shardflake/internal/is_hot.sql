--liquibase formatted sql logicalFilePath:shardflake/internal/is_hot.sql

--changeset shardflake:is_hot runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.is_hot(last_value bigint) RETURNS boolean
    LANGUAGE sql VOLATILE PARALLEL SAFE
    -- The clock's whole milliseconds are at most hot_lag after last_value, asked as: the clock is before the millisecond after that. So few
    -- operators do, and PL/pgSQL prepares each anew in every transaction. last_value stands here once, so that what next_id puts there is
    -- inlined. The remainder by 2^50 - 1024 changes only ticks of the last millisecond, to a time long past: they are drawn under the lock,
    -- where their end is an error that explains itself. What is known beforehand is kept together, so that PostgreSQL computes it once.
    RETURN shardflake.clock() < to_timestamp(
        (last_value % 1125899906841600 >> 10)::double precision * 0.001::double precision
            + (shardflake.epoch_ms() + (shardflake.hot_lag() >> 10) + 1)::double precision * 0.001::double precision);

COMMENT ON FUNCTION shardflake.is_hot(bigint) IS 'Whether a sequence with this last value keeps up with the clock, so that an id may be drawn with a plain nextval. NULL for a sequence never drawn from';

--rollback DROP FUNCTION shardflake.is_hot(bigint);
