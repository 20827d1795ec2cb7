--liquibase formatted sql logicalFilePath:shardflake/internal/hot_lag.sql

--changeset shardflake:hot_lag runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.hot_lag() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 3072::bigint;

COMMENT ON FUNCTION shardflake.hot_lag() IS 'How many ticks a sequence may lag the clock and still be drawn from without a lock: 3 ms. See advance_sequence';

--rollback DROP FUNCTION shardflake.hot_lag();
