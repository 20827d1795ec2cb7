--liquibase formatted sql logicalFilePath:shardflake/internal/claim_move.sql

--changeset shardflake:claim_move runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.claim_move(move text, claim bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO shardflake.move_claim AS c (move, claim) VALUES (claim_move.move, claim_move.claim)
        ON CONFLICT (move) DO UPDATE SET claim = excluded.claim WHERE c.claim < excluded.claim;
    PERFORM shardflake.check_claim(claim_move.move, claim_move.claim);
END
$$;

COMMENT ON FUNCTION shardflake.claim_move(text, bigint) IS
'Internal: makes this server obey the claim given, and no earlier one. Error: SF011 when it obeys a later one';

REVOKE EXECUTE ON FUNCTION shardflake.claim_move(text, bigint) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.claim_move(text, bigint);

--changeset shardflake:check_claim runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.check_claim(move text, claim bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
/*
 * The row stays locked until the transaction ends, so whoever claims the move next waits for what this one does.
 */
DECLARE
    v_claim bigint := (SELECT c.claim FROM shardflake.move_claim c WHERE c.move = check_claim.move FOR SHARE);
BEGIN
    IF v_claim IS DISTINCT FROM check_claim.claim THEN
        RAISE EXCEPTION 'another process has taken over move %', move
            USING ERRCODE = 'SF011',
                  DETAIL = format('This server obeys claim %s; the statement came with %s.', COALESCE(v_claim::text, 'none'), check_claim.claim),
                  HINT = 'See shardflake move status, and let only one of them work.';
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.check_claim(text, bigint) IS
'Internal: refuses whoever no longer has the move, until the end of the transaction. Error: SF011';

REVOKE EXECUTE ON FUNCTION shardflake.check_claim(text, bigint) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.check_claim(text, bigint);
