--liquibase formatted sql logicalFilePath:shardflake/internal/stop_ids.sql

--changeset shardflake:lock_ids runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.lock_ids(sequence regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM shardflake.await_lock(sequence);
EXCEPTION
    WHEN lock_not_available THEN
        PERFORM shardflake.refuse_wait(sequence);
END
$$;

COMMENT ON FUNCTION shardflake.lock_ids(regclass) IS
'Internal: takes the lock of a sequence until the transaction ends, or says who has it. Error: 55P03';

REVOKE EXECUTE ON FUNCTION shardflake.lock_ids(regclass) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.lock_ids(regclass);

--changeset shardflake:stop_ids runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.stop_ids(sequence regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * A stopped sequence is below 0 by 2^50, and next_id makes no id of what nextval gives there. Like any setval this is not
 * undone by a rollback; start_ids undoes it. Nothing is lost with it, since the sequence itself says where it was.
 *
 * Numbers drawn between the look and setval, by next_id or by others, are allowed for by what was written to the log in between, see
 * draws_now, and 4096 besides. What is drawn afterwards is below 0 and no id.
 */
DECLARE
    c_stopped CONSTANT bigint := -1125899906842624; -- -2^50
    c_last_tick CONSTANT bigint := 1125899906842623;
    v_last bigint;
BEGIN
    -- Draws that lag the clock wait for this lock, as for each other: see advance_sequence.
    PERFORM shardflake.lock_ids(sequence);
    v_last := COALESCE(pg_sequence_last_value(sequence), nextval(sequence)); -- not called: new, restarted, or see move_to_clock
    IF v_last < 0 THEN
        RETURN v_last - c_stopped;
    END IF;
    v_last := 0 - shardflake.draws_now() + setval(sequence, c_stopped + pg_sequence_last_value(sequence)) + shardflake.draws_now();
    v_last := LEAST(v_last - c_stopped + 4096, c_last_tick);
    PERFORM setval(sequence, c_stopped + v_last);
    RETURN v_last;
END
$$;

COMMENT ON FUNCTION shardflake.stop_ids(regclass) IS
'Internal: makes a sequence of ticks give no more ids, and returns a tick that none of those it gave is above. Not undone by a rollback';

REVOKE EXECUTE ON FUNCTION shardflake.stop_ids(regclass) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.stop_ids(regclass);

--changeset shardflake:start_ids runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.start_ids(sequence regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_stopped CONSTANT bigint := -1125899906842624; -- -2^50
    v_last bigint;
BEGIN
    PERFORM shardflake.lock_ids(sequence);
    v_last := pg_sequence_last_value(sequence);
    IF v_last < 0 THEN
        PERFORM setval(sequence, v_last - c_stopped);
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.start_ids(regclass) IS
'Internal: lets a sequence that was stopped go on where it was. Not undone by a rollback';

REVOKE EXECUTE ON FUNCTION shardflake.start_ids(regclass) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.start_ids(regclass);
