--liquibase formatted sql logicalFilePath:shardflake/internal/clock.sql

--changeset shardflake:clock runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.clock() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN clock_timestamp();

COMMENT ON FUNCTION shardflake.clock() IS 'Internal: the server''s clock now. Ids have their time from here';

--rollback DROP FUNCTION shardflake.clock();
