--liquibase formatted sql logicalFilePath:shardflake/internal/draws_now.sql

--changeset shardflake:draws_now runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.draws_now() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL SAFE
    -- By the log and not by the clock, which can step back, and stands while a machine is suspended. For each 32 numbers a sequence
    -- writes a record of 99 bytes; here that is taken to be 64, for other versions.
    RETURN ((pg_current_wal_insert_lsn() - '0/0'::pg_lsn) / 2)::bigint;

COMMENT ON FUNCTION shardflake.draws_now() IS 'Internal: the log in numbers that a sequence could have given: the difference of two readings, and 64, is more than it gave in between, whoever drew';

--rollback DROP FUNCTION shardflake.draws_now();
