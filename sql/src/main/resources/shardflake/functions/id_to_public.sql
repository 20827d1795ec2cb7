--liquibase formatted sql logicalFilePath:shardflake/functions/id_to_public.sql

--changeset shardflake:id_to_public runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.id_to_public(id bigint, key bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF id < 0 THEN
        RAISE EXCEPTION 'id % is out of range 0..9223372036854775807', id
            USING ERRCODE = 'numeric_value_out_of_range',
                  HINT = 'The public form is of ids that Shardflake makes, which are positive.';
    END IF;
    RETURN shardflake.id_to_base32(shardflake.permute_id(id, key, false));
END
$$;

COMMENT ON FUNCTION shardflake.id_to_public(bigint, bytea) IS
'An id for strangers, who see neither time nor shard nor how many there are: 13 characters of base32, to be read with the same key of 16, 24 or 32 bytes. Needs the extension pgcrypto. Errors: 22003 for a negative id, 22023 for another length of key, 42704 without pgcrypto';

--rollback DROP FUNCTION shardflake.id_to_public(bigint, bytea);
