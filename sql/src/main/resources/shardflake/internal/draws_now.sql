--liquibase formatted sql logicalFilePath:shardflake/internal/draws_now.sql

--changeset shardflake:draws_now runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.draws_now() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL SAFE
    -- 20 to a microsecond: each number takes the lock of the sequence's page, and servers give some 6, however many sessions ask
    RETURN (date_part('epoch', clock_timestamp()) * 20000000::double precision)::bigint;

COMMENT ON FUNCTION shardflake.draws_now() IS 'Internal: the clock in numbers that a sequence could have given: the difference of two readings is more than it gave in between, whoever drew';

--rollback DROP FUNCTION shardflake.draws_now();
