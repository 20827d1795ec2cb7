--liquibase formatted sql logicalFilePath:shardflake/catalog/switch_shard.sql

--changeset shardflake:catalog_switch_shard runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.switch_shard(
    move bigint, claim bigint, shard integer, attempt bigint, epoch bigint, server text, phase text, mark bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '20ms' -- the shard takes no writes meanwhile
AS $$
#variable_conflict use_column
/*
 * The one moment at which a shard changes its server. Whatever the caller believes is compared with what is here, in
 * the transaction that makes the change, so that one attempt at most succeeds, and none that has been given up.
 */
DECLARE
    v_epoch bigint;
BEGIN
    -- A server that has lost the row already must not get rows that refer to it. A moment later the row is gone everywhere, or back.
    IF EXISTS (SELECT FROM shardflake_catalog.reference_delete) THEN
        RAISE EXCEPTION 'a row of a reference table is being deleted on all servers'
            USING ERRCODE = '55P03', HINT = 'If this lasts, the deletion was interrupted: shardflake reference status says which command to run again.';
    END IF;
    PERFORM FROM shardflake_catalog.move m WHERE m.id = switch_shard.move AND m.claim = switch_shard.claim FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another process has taken over move %, or it is done', move
            USING ERRCODE = 'SF011', HINT = 'See shardflake move status.';
    END IF;
    UPDATE shardflake_catalog.move_shard m
       SET phase = switch_shard.phase, mark = switch_shard.mark, verified = '', switched_at = clock_timestamp()
     WHERE m.move = switch_shard.move AND m.shard = switch_shard.shard
       AND m.attempt = switch_shard.attempt AND m.phase = 'cutting over';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'attempt % to cut over shard % was given up', attempt, shard
            USING ERRCODE = 'SF011', HINT = 'See shardflake move status.';
    END IF;
    PERFORM set_config('shardflake.move', move::text, true);
    PERFORM set_config('shardflake.reason', format('move %s', move), true);
    UPDATE shardflake_catalog.shard s SET server = switch_shard.server
     WHERE s.shard = switch_shard.shard AND s.epoch = switch_shard.epoch AND s.server <> switch_shard.server
     RETURNING s.epoch INTO v_epoch;
    IF v_epoch IS NULL THEN
        RAISE EXCEPTION 'shard % is no longer at epoch %', shard, epoch
            USING ERRCODE = 'SF011', HINT = 'See shardflake map history.';
    END IF;
    RETURN v_epoch;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.switch_shard(bigint, bigint, integer, bigint, bigint, text, text, bigint) IS
'Internal: places a moving shard on its other server, if the move''s claim, the attempt and the shard''s epoch are still the ones given; returns the new epoch. Errors: SF011 when they are not, 55P03 while a row of a reference table is being deleted';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.switch_shard(bigint, bigint, integer, bigint, bigint, text, text, bigint) FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.switch_shard(bigint, bigint, integer, bigint, bigint, text, text, bigint);
