--liquibase formatted sql logicalFilePath:shardflake/functions/base32_to_id.sql

--changeset shardflake:base32_to_id runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.base32_to_id(base32 text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Not upper(), which follows the locale. "C" for the same reason, and since not every collation can be searched in.
    v_digits text := translate(base32, 'abcdefghjkmnpqrstvwxyzOoIiLl', 'ABCDEFGHJKMNPQRSTVWXYZ001111') COLLATE "C";
    v_digit integer;
    v_id bigint := 0;
BEGIN
    IF length(v_digits) <> 13 THEN
        RAISE EXCEPTION '% is not an id in base32: it has % characters instead of 13', quote_literal(left(base32, 40)), length(base32)
            USING ERRCODE = 'invalid_text_representation',
                  HINT = 'The form has all its leading zeros: shardflake.id_to_base32(7) is 0000000000007.';
    END IF;
    FOR v_place IN 1..13 LOOP
        v_digit := strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ' COLLATE "C", substr(v_digits, v_place, 1)) - 1;
        IF v_digit < 0 THEN
            RAISE EXCEPTION '% is not an id in base32: character % is not one of its digits', quote_literal(base32), v_place
                USING ERRCODE = 'invalid_text_representation',
                      HINT = 'The digits are 0-9 and A-Z without U, in either case; I and L stand for 1, O for 0.';
        END IF;
        IF v_place = 1 AND v_digit > 15 THEN
            RAISE EXCEPTION '% is not an id in base32: it is out of range 0000000000000..FZZZZZZZZZZZZ', quote_literal(base32)
                USING ERRCODE = 'numeric_value_out_of_range',
                      HINT = 'An id has 64 bits.';
        END IF;
        v_id := v_id << 5 | v_digit;
    END LOOP;
    RETURN v_id;
END
$$;

COMMENT ON FUNCTION shardflake.base32_to_id(text) IS
'The id that 13 characters of Crockford''s base32 stand for, in either case, with I and L read as 1 and O as 0. Errors: 22P02 for a wrong length or character, 22003 above 64 bits';

--rollback DROP FUNCTION shardflake.base32_to_id(text);
