--liquibase formatted sql logicalFilePath:shardflake/internal/clock_ms.sql

--changeset shardflake:clock_ms runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.clock_ms() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN floor(date_part('epoch', clock_timestamp()) * 1000)::bigint;

COMMENT ON FUNCTION shardflake.clock_ms() IS 'The server''s clock now: UTC milliseconds since 1970-01-01. The only place where Shardflake reads a clock';

--rollback DROP FUNCTION shardflake.clock_ms();
