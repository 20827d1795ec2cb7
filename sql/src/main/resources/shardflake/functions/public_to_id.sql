--liquibase formatted sql logicalFilePath:shardflake/functions/public_to_id.sql

--changeset shardflake:public_to_id runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.public_to_id(public_id text, key bytea) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_permuted bigint := shardflake.base32_to_id(public_id);
BEGIN
    IF v_permuted < 0 THEN
        RAISE EXCEPTION '% is not a public id: it is out of range 0000000000000..7ZZZZZZZZZZZZ', quote_literal(public_id)
            USING ERRCODE = 'numeric_value_out_of_range',
                  HINT = 'Public ids are below 2^63, so that the first character is 0 to 7.';
    END IF;
    RETURN shardflake.permute_id(v_permuted, key, true);
END
$$;

COMMENT ON FUNCTION shardflake.public_to_id(text, bytea) IS
'The id whose public form this is, under the same key. Every well-formed text gives some id, so look whether it exists. Needs the extension pgcrypto. Errors: as base32_to_id, and 22003 above 63 bits, 22023 for a key of another length than 16, 24 or 32 bytes, 42704 without pgcrypto';

--rollback DROP FUNCTION shardflake.public_to_id(text, bytea);
