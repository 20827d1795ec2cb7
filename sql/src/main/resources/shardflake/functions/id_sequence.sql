--liquibase formatted sql logicalFilePath:shardflake/functions/id_sequence.sql

--changeset shardflake:id_sequence runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.id_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (id & 1023::bigint)::integer;

COMMENT ON FUNCTION shardflake.id_sequence(bigint) IS 'The sequence bits of an id: 0..1023';

--rollback DROP FUNCTION shardflake.id_sequence(bigint);
