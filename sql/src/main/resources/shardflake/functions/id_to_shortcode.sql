--liquibase formatted sql logicalFilePath:shardflake/functions/id_to_shortcode.sql

--changeset shardflake:id_to_shortcode runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.id_to_shortcode(id bigint) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    -- 10 digits of 6 bits below the first, which has 4: >> of a negative id fills it with ones
    RETURN (SELECT CASE id WHEN 0 THEN 'A' ELSE ltrim(string_agg(
                       substr('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
                              (id >> 6 * digit & CASE digit WHEN 10 THEN 15::bigint ELSE 63 END)::integer + 1, 1),
                       '' ORDER BY digit DESC), 'A') END
              FROM generate_series(0, 10) AS digit);

COMMENT ON FUNCTION shardflake.id_to_shortcode(bigint) IS
'An id as Instagram writes it in addresses: its 6-bit digits, highest first, in the alphabet of base64url, without leading zeros. 908540701891980503 gives ybyPRoQWzX';

--rollback DROP FUNCTION shardflake.id_to_shortcode(bigint);
