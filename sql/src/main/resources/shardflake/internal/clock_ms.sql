--liquibase formatted sql logicalFilePath:shardflake/internal/clock_ms.sql

--changeset shardflake:clock_ms runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.clock_ms() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN floor(date_part('epoch', shardflake.clock()) * 1000::double precision)::bigint;

COMMENT ON FUNCTION shardflake.clock_ms() IS 'The server''s clock now: UTC milliseconds since 1970-01-01';

--rollback DROP FUNCTION shardflake.clock_ms();
