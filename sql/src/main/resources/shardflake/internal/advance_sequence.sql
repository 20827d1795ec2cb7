--liquibase formatted sql logicalFilePath:shardflake/internal/advance_sequence.sql

--changeset shardflake:advance_sequence runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
DROP FUNCTION IF EXISTS shardflake.advance_sequence(integer, regclass, bigint); -- as it was in earlier snapshots
DO $$
BEGIN -- Moved, not made anew: draw_cold depends on it, and on that the shards.
    IF to_regprocedure('shardflake.advance_sequence(integer, regclass)') IS NOT NULL THEN
        ALTER FUNCTION shardflake.advance_sequence(integer, regclass) SET SCHEMA shardflake_internal;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION shardflake_internal.advance_sequence(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * The cold path: brings a sequence that lags the clock up to it and returns the tick drawn, or NULL when it lags so
 * little, or moved meanwhile, that the caller is to draw with nextval.
 *
 * setval needs UPDATE on the sequence, which would let a role move it back; so this one function runs as its owner. It
 * only ever moves a sequence forward, and not beyond the clock. Whether the caller may draw is asked by draw_cold, and nobody gets
 * here without it, since nobody may use the schema that this function is in.
 *
 * move_to_clock takes and releases the lock that this needs. What could fail in between is asked here before: the first look locks
 * the sequence against changes, and pg_current_xact_id fails where nothing may be written. Who finds the lock taken, and the
 * sequence still behind, waits in a subtransaction that is always rolled back: neither a cancel, nor a timeout,
 * nor an error can leave that lock held.
 *
 * Why setval cannot take back a number that another session draws meanwhile. Numbers are drawn without this lock: by next_id where the
 * sequence keeps up with the clock, and by whoever calls nextval itself, which USAGE allows, as often as he likes. So
 * move_to_clock sets the sequence twice. The first setval puts it below 0, where no number is an id and next_id
 * comes here and waits. What it took back is what was drawn since the look that it is computed from. Only now is it known how much
 * was written to the log meanwhile, and the second setval goes beyond the position looked at by more numbers than a sequence can give
 * with that (draws_now). From one to the other no id is made, however long it takes, and whatever the clock does.
 *
 * Where all numbers are drawn by next_id, nothing need be measured. Let A read the clock (now), take the lock
 * and then find last < now - hot_lag - S, S being the most sessions the server allows. Whoever begins to look after that may draw
 * without the lock only when last >= now - hot_lag, that is after more than S further draws. Until then only
 * sessions that had looked before A can draw, once each: S at most. setval goes hot_lag + S further than the last one.
 * A sequence that lags by less (hot_lag to hot_lag + S) is drawn from with nextval, once for each look under the lock.
 *
 * Below 0 and not called, as setval leaves it, is "being moved"; below 0 and called is "stopped", see stop_ids. A number
 * that is drawn in between makes one look like the other, so what counts is what is found under the lock. A server
 * that crashes in between leaves the sequence as it was, less 2^50, and the next who has the lock adds that.
 */
DECLARE
    c_last_tick CONSTANT bigint := 1125899906842623; -- 2^50 - 1: milliseconds 2^40 - 1, count 1023
    c_busy CONSTANT bigint := -1;
    c_stopped CONSTANT bigint := -2;
    v_now bigint := shardflake.now_ticks();
    v_last bigint;
    v_kind record;
    v_lock bigint := shardflake.lock_key(sequence);
    v_margin bigint := shardflake.hot_lag() -- hot_lag + S
        + current_setting('max_connections')::integer
        + current_setting('max_worker_processes')::integer
        + current_setting('max_wal_senders')::integer;
    v_transaction xid8;
    v_ticks bigint;
BEGIN
    -- With search_path pinned as it is here, the text of a regclass always names the schema; quote_all_identifiers quotes it.
    IF (shardflake.is_shard(shard)
        AND (starts_with(sequence::text, shardflake.shard_schema(shard) || '.')
             OR starts_with(sequence::text, '"' || shardflake.shard_schema(shard) || '".'))) IS NOT TRUE
    THEN
        PERFORM shardflake.refuse_draw(shard, sequence, NULL);
    END IF;
    v_last := pg_sequence_last_value(sequence);
    v_kind := pg_sequence_parameters(sequence::oid);
    IF (v_kind.minimum_value = -1125899906842624 AND v_kind.maximum_value = c_last_tick -- as create_id_sequence makes it
        AND has_sequence_privilege(sequence, 'UPDATE')
        AND v_now BETWEEN 0 AND c_last_tick
        AND COALESCE(v_last, 0) < c_last_tick) IS NOT TRUE
    THEN
        PERFORM shardflake.refuse_draw(shard, sequence, v_last);
    END IF;
    IF current_setting('transaction_read_only')::boolean THEN
        IF v_last < 0 THEN
            PERFORM shardflake.refuse_draw(shard, sequence, v_last);
        END IF;
        RETURN NULL; -- nextval says that this cannot be
    END IF;
    v_transaction := pg_current_xact_id();
    v_ticks := shardflake.move_to_clock(sequence, v_now, v_margin, (v_last IS NULL)::integer, v_lock);
    IF v_ticks = c_busy AND shardflake.is_hot(pg_sequence_last_value(sequence)) IS NOT TRUE THEN
        BEGIN
            PERFORM shardflake.await_lock(sequence);
            v_ticks := shardflake.move_to_clock(sequence, shardflake.now_ticks(), v_margin, (v_last IS NULL)::integer, v_lock);
            RAISE EXCEPTION USING ERRCODE = 'SF009', MESSAGE = 'rolls back to release the lock';
        EXCEPTION
            WHEN SQLSTATE 'SF009' THEN
                NULL;
            WHEN lock_not_available THEN
                IF pg_sequence_last_value(sequence) < 0 THEN -- whoever fences has it
                    v_ticks := c_stopped;
                ELSE
                    PERFORM shardflake.refuse_wait(sequence);
                END IF;
        END;
    END IF;
    IF v_ticks = c_stopped THEN
        PERFORM shardflake.refuse_draw(shard, sequence, -1);
    END IF;
    RETURN NULLIF(v_ticks, c_busy);
END
$$;

DROP FUNCTION IF EXISTS shardflake.move_to_clock(regclass, bigint, bigint, bigint); -- as it was in earlier snapshots

COMMENT ON FUNCTION shardflake_internal.advance_sequence(integer, regclass) IS 'Internal: moves a sequence that lags the clock forward to it and returns the tick drawn, or NULL when nextval is to draw';

--rollback DROP FUNCTION shardflake_internal.advance_sequence(integer, regclass);
