--liquibase formatted sql logicalFilePath:shardflake/internal/permute_id.sql

--changeset shardflake:permute_id runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.permute_id(id bigint, key bytea, backwards boolean) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_encrypt text;
    v_left bigint := id >> 32;
    v_right bigint := id & 4294967295;
    v_block bytea;
    v_round integer;
    v_add bigint;
    v_mask bigint;
BEGIN
    /*
     * FF1 of NIST SP 800-38G, algorithms 7 and 8, for radix 2, 63 digits and no tweak: ten rounds of a Feistel network over
     * the upper 31 and the lower 32 bits. Each adds to one half, modulo its size, a number that AES makes of the other.
     *
     * In the standard's words u = 31, v = 32, b = 4 and d = 8. The bytes before the round's number are P, then the zeros
     * that fill Q up to a block. The number is the first 8 bytes of the last block of CBC from a zero IV, of which the
     * addition needs the lower 4. Going backwards, the rounds come in reverse and subtract.
     *
     * pgcrypto is called by a text made here, for it may be in any schema, or not installed when this function is deployed.
     * It takes keys of any length, and fills them up; AES does not, so that is refused.
     */
    IF octet_length(key) NOT IN (16, 24, 32) THEN
        RAISE EXCEPTION 'key has % bytes instead of 16, 24 or 32', octet_length(key)
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Make one with: openssl rand -hex 32. In SQL it is decode(''...'', ''hex'').';
    END IF;
    SELECT format('SELECT %I.encrypt($1, $2, ''aes-cbc/pad:none'')', n.nspname) INTO v_encrypt
      FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     WHERE e.extname = 'pgcrypto';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'public ids need the extension pgcrypto, which database % does not have', current_database()
            USING ERRCODE = 'undefined_object',
                  HINT = 'CREATE EXTENSION pgcrypto; it comes with PostgreSQL, and CREATE on the database is enough to install it.';
    END IF;

    FOR v_step IN 0..9 LOOP
        v_round := CASE WHEN backwards THEN 9 - v_step ELSE v_step END;
        v_mask := CASE v_round % 2 WHEN 0 THEN 2147483647 ELSE 4294967295 END;
        v_block := decode('0102010000020a1f0000003f000000000000000000000000000000', 'hex') || substr(int4send(v_round), 4)
            || substr(int8send(CASE WHEN backwards THEN v_left ELSE v_right END), 5);
        EXECUTE v_encrypt INTO v_block USING v_block, key;
        v_add := ('x' || encode(substr(v_block, 21, 4), 'hex'))::bit(32)::bigint;
        IF backwards THEN
            SELECT v_right - v_add & v_mask, v_left INTO v_left, v_right;
        ELSE
            SELECT v_right, v_left + v_add & v_mask INTO v_left, v_right;
        END IF;
    END LOOP;
    RETURN v_left << 32 | v_right;
END
$$;

COMMENT ON FUNCTION shardflake.permute_id(bigint, bytea, boolean) IS
'Internal: a permutation of the numbers below 2^63 under an AES key: FF1 of NIST SP 800-38G. Needs pgcrypto';

--rollback DROP FUNCTION shardflake.permute_id(bigint, bytea, boolean);
