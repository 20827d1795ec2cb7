--liquibase formatted sql logicalFilePath:shardflake/internal/advance_sequence.sql

--changeset shardflake:advance_sequence runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.advance_sequence(shard integer, sequence regclass, drawn bigint DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * The cold path: brings a sequence that lags the clock up to it and returns the tick drawn.
 *
 * setval needs UPDATE on the sequence, which would let a role move it back; so this one function
 * runs as its owner and only ever moves a sequence forward. It serves a session that has drawn from the
 * sequence itself, which currval proves and which takes USAGE. To others it returns NULL: draw_cold then
 * draws once, as the caller, and comes again with the number drawn.
 *
 * The lock belongs to the subtransaction, which is always rolled back: neither a cancel, nor a timeout,
 * nor an error can leave it held, and it never lasts until the caller commits. setval and nextval are
 * not undone by a rollback.
 *
 * Why setval cannot take back a number that another session draws meanwhile, without a lock. Let A hold
 * the lock, read the clock (now) and then find last < now - hot_lag - S, S being the most sessions the server
 * allows. Whoever reads the clock after A may draw without the lock only when last >= now - hot_lag, that is
 * after more than S further draws. Until then only sessions that looked before A can draw, once each,
 * or for the first time in their session (draw_cold), once each before they wait for the lock too: S at most.
 * So at most S numbers are drawn between the look and setval, however long A stalls and however high the
 * demand, and setval goes hot_lag + S further than the last one.
 * A sequence that lags by less (hot_lag to hot_lag + S) is drawn from with nextval, under the lock. This assumes
 * that the clock does not step back in the microsecond between look and setval; even then more than hot_lag
 * numbers would have to be drawn in it.
 */
DECLARE
    c_last_tick CONSTANT bigint := 1125899906842623; -- 2^50 - 1: milliseconds 2^40 - 1, count 1023
    v_now bigint := shardflake.now_ticks();
    v_far_behind bigint; -- what lags by more than hot_lag + S is below this
    v_last bigint;
    v_count bigint;
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
    BEGIN
        PERFORM currval(sequence);
        -- 'SFLK' as a number, then the OID: a key space of our own, wide enough for any OID.
        PERFORM pg_advisory_xact_lock((1397115979::bigint << 32) | sequence::oid::bigint);
        v_now := shardflake.now_ticks();
        v_far_behind := v_now - shardflake.hot_lag()
            - current_setting('max_connections')::integer
            - current_setting('max_worker_processes')::integer
            - current_setting('max_wal_senders')::integer;
        v_last := COALESCE(pg_sequence_last_value(sequence), -1); -- NULL after TRUNCATE ... RESTART IDENTITY
        IF pg_sequence_last_value(sequence) < 0 THEN
            v_ticks := nextval(sequence); -- stopped meanwhile, which next_id sees
        ELSIF v_last < v_far_behind THEN
            v_count := CASE WHEN v_last = drawn THEN drawn ELSE v_last + 1 END & 1023;
            v_ticks := setval(sequence, v_now | v_count);
        ELSIF drawn >= v_far_behind THEN
            v_ticks := drawn;
        ELSE
            v_ticks := nextval(sequence);
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'SF009', MESSAGE = 'rolls back to release the lock';
    EXCEPTION
        WHEN SQLSTATE 'SF009' THEN
            RETURN v_ticks;
        WHEN object_not_in_prerequisite_state THEN
            IF SQLSTATE <> '55000' THEN -- the name stands for its whole class, a lock timeout included
                RAISE;
            END IF;
            RETURN NULL; -- currval: this session has not drawn yet
    END;
END
$$;

COMMENT ON FUNCTION shardflake.advance_sequence(integer, regclass, bigint) IS 'Internal: draws from a sequence that lags the clock, moving it forward to the clock first';

--rollback DROP FUNCTION shardflake.advance_sequence(integer, regclass, bigint);
