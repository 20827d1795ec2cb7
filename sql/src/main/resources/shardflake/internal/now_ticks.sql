--liquibase formatted sql logicalFilePath:shardflake/internal/now_ticks.sql

--changeset shardflake:now_ticks runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.now_ticks() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN (shardflake.clock_ms() - shardflake.epoch_ms()) << 10;

COMMENT ON FUNCTION shardflake.now_ticks() IS 'The clock in ticks, 1024 to a millisecond, counted from the epoch';

--rollback DROP FUNCTION shardflake.now_ticks();
