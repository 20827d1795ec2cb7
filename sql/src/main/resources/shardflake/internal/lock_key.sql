--liquibase formatted sql logicalFilePath:shardflake/internal/lock_key.sql

--changeset shardflake:lock_key runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.lock_key(sequence regclass) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    -- 'SFLK' as a number, then the OID: a key space of our own, wide enough for any OID.
    RETURN (1397115979::bigint << 32) | sequence::oid::bigint;

COMMENT ON FUNCTION shardflake.lock_key(regclass) IS 'Internal: the key of the advisory lock for whoever moves a sequence';

--rollback DROP FUNCTION shardflake.lock_key(regclass);
