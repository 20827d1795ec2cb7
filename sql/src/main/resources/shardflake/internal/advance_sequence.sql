--liquibase formatted sql logicalFilePath:shardflake/internal/advance_sequence.sql

--changeset shardflake:advance_sequence runOnChange:true splitStatements:false stripComments:false
DROP FUNCTION IF EXISTS shardflake.advance_sequence(integer, regclass, bigint); -- as it was in earlier snapshots

CREATE OR REPLACE FUNCTION shardflake.advance_sequence(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * The cold path: brings a sequence that lags the clock up to it and returns the tick drawn, or NULL when it lags so
 * little, or moved meanwhile, that the caller is to draw with nextval.
 *
 * setval needs UPDATE on the sequence, which would let a role move it back; so this one function runs as its owner. It
 * only ever moves a sequence forward, and not beyond the clock. Whether the caller may draw is for draw_cold to ask.
 *
 * move_to_clock takes and releases the lock that this needs. What could fail in between is done here before: the first look locks
 * the sequence against changes, and pg_current_xact_id fails where nothing may be written. Who finds the lock taken, and the
 * sequence still behind, waits in a subtransaction that is always rolled back: neither a cancel, nor a timeout,
 * nor an error can leave that lock held.
 *
 * Why setval cannot take back a number that another session draws meanwhile, without a lock. Let A read the
 * clock (now), take the lock and then find last < now - hot_lag - S, S being the most sessions the server allows. Whoever
 * begins to look after that may draw without the lock only when last >= now - hot_lag, that is after more than S further
 * draws. Until then only sessions that had looked before A can draw, once each: S at most.
 * So at most S numbers are drawn between the look and setval, however long A stalls and however high the
 * demand, and setval goes hot_lag + S further than the last one.
 * A sequence that lags by less (hot_lag to hot_lag + S) is drawn from with nextval, once for each look under the lock. This
 * assumes that the clock does not step back in the microsecond between look and setval; even then more than hot_lag
 * numbers would have to be drawn in it.
 */
DECLARE
    c_last_tick CONSTANT bigint := 1125899906842623; -- 2^50 - 1: milliseconds 2^40 - 1, count 1023
    c_busy CONSTANT bigint := -1;
    v_now bigint := shardflake.now_ticks();
    -- 'SFLK' as a number, then the OID: a key space of our own, wide enough for any OID.
    v_lock bigint := (1397115979::bigint << 32) | sequence::oid::bigint;
    v_margin bigint := shardflake.hot_lag() -- hot_lag + S
        + current_setting('max_connections')::integer
        + current_setting('max_worker_processes')::integer
        + current_setting('max_wal_senders')::integer;
    v_transaction xid8;
    v_ticks bigint;
BEGIN
    -- With search_path pinned as it is here, the text of a regclass always names the schema.
    IF (shardflake.is_shard(shard)
        AND starts_with(sequence::text, shardflake.shard_schema(shard) || '.')
        AND v_now BETWEEN 0 AND c_last_tick
        AND COALESCE(pg_sequence_last_value(sequence), 0) BETWEEN 0 AND c_last_tick - 1) IS NOT TRUE
    THEN
        PERFORM shardflake.refuse_draw(shard, sequence);
    END IF;
    IF current_setting('transaction_read_only')::boolean THEN
        RETURN NULL; -- nextval says that this cannot be
    END IF;
    v_transaction := pg_current_xact_id();
    v_ticks := shardflake.move_to_clock(sequence, v_now, v_margin, v_lock);
    IF v_ticks IS DISTINCT FROM c_busy OR shardflake.is_hot(pg_sequence_last_value(sequence)) THEN
        RETURN NULLIF(v_ticks, c_busy);
    END IF;
    BEGIN
        PERFORM pg_advisory_xact_lock(v_lock);
        v_ticks := shardflake.move_to_clock(sequence, shardflake.now_ticks(), v_margin, v_lock);
        RAISE EXCEPTION USING ERRCODE = 'SF009', MESSAGE = 'rolls back to release the lock';
    EXCEPTION
        WHEN SQLSTATE 'SF009' THEN
            RETURN v_ticks;
    END;
END
$$;

COMMENT ON FUNCTION shardflake.advance_sequence(integer, regclass) IS 'Internal: moves a sequence that lags the clock forward to it and returns the tick drawn, or NULL when nextval is to draw';

--rollback DROP FUNCTION shardflake.advance_sequence(integer, regclass);
