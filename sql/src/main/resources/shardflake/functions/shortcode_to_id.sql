--liquibase formatted sql logicalFilePath:shardflake/functions/shortcode_to_id.sql

--changeset shardflake:shortcode_to_id runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.shortcode_to_id(shortcode text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- "C", since not every collation can be searched in.
    v_digits text := shortcode COLLATE "C";
    v_digit integer;
    v_id bigint := 0;
BEGIN
    IF length(v_digits) NOT BETWEEN 1 AND 11 THEN
        RAISE EXCEPTION '% is not a shortcode: it has % characters instead of 1 to 11', quote_literal(left(shortcode, 40)), length(shortcode)
            USING ERRCODE = 'invalid_text_representation',
                  HINT = 'A shortcode has 6 bits in each character, and an id 64 bits.';
    END IF;
    FOR v_place IN 1..length(v_digits) LOOP
        v_digit := strpos('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_' COLLATE "C", substr(v_digits, v_place, 1)) - 1;
        IF v_digit < 0 THEN
            RAISE EXCEPTION '% is not a shortcode: character % is not one of its digits', quote_literal(shortcode), v_place
                USING ERRCODE = 'invalid_text_representation',
                      HINT = 'The digits are A-Z, a-z, 0-9, - and _.';
        END IF;
        v_id := v_id << 6 | v_digit;
    END LOOP;
    IF length(v_digits) = 11 AND left(v_digits, 1) !~ '[A-P]' THEN
        RAISE EXCEPTION '% is not a shortcode: it is out of range A..P__________', quote_literal(shortcode)
            USING ERRCODE = 'numeric_value_out_of_range',
                  HINT = 'An id has 64 bits.';
    END IF;
    IF left(v_digits, 1) = 'A' AND v_digits <> 'A' THEN
        RAISE EXCEPTION '% is not a shortcode: it begins with A, a zero', quote_literal(shortcode)
            USING ERRCODE = 'invalid_text_representation',
                  HINT = 'Leading zeros are left out, so that an id has one shortcode only.';
    END IF;
    RETURN v_id;
END
$$;

COMMENT ON FUNCTION shardflake.shortcode_to_id(text) IS
'The id that a shortcode stands for: the reverse of id_to_shortcode. Errors: 22P02 for a wrong length or character, or a leading zero; 22003 above 64 bits';

--rollback DROP FUNCTION shardflake.shortcode_to_id(text);
