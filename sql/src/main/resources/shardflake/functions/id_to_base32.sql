--liquibase formatted sql logicalFilePath:shardflake/functions/id_to_base32.sql

--changeset shardflake:id_to_base32 runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.id_to_base32(id bigint) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    -- 12 digits of 5 bits below the first, which has 4: >> of a negative id fills it with ones
    RETURN (SELECT string_agg(
                       substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (id >> 5 * digit & CASE digit WHEN 12 THEN 15::bigint ELSE 31 END)::integer + 1, 1),
                       '' ORDER BY digit DESC)
              FROM generate_series(0, 12) AS digit);

COMMENT ON FUNCTION shardflake.id_to_base32(bigint) IS
'An id in Crockford''s base32: always 13 characters, which sort like the id as an unsigned number under COLLATE "C". 11637205501278089 gives 00AAQZ8619XW9';

--rollback DROP FUNCTION shardflake.id_to_base32(bigint);
