--liquibase formatted sql logicalFilePath:shardflake/functions/id_timestamp.sql

--changeset shardflake:id_timestamp runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.id_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN to_timestamp(((id >> 23 & 2199023255551) + shardflake.epoch_ms())::double precision / 1000.0::double precision); -- 2^41 - 1: no sign

COMMENT ON FUNCTION shardflake.id_timestamp(bigint) IS 'When an id was made, in whole milliseconds. All 64 bits count as unsigned, so a foreign id with the top bit set decodes too';

--rollback DROP FUNCTION shardflake.id_timestamp(bigint);
