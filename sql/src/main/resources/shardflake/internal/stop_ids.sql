--liquibase formatted sql logicalFilePath:shardflake/internal/stop_ids.sql

--changeset shardflake:stop_ids runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.stop_ids(sequence regclass, stopped boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * A stopped sequence rests on its last value, from which nextval cannot go on, and its START says where it was;
 * 0 is the START of one that is not stopped. ALTER SEQUENCE is undone by a rollback, and so is setval after it.
 */
DECLARE
    c_last_tick CONSTANT bigint := 1125899906842623; -- 2^50 - 1
    v_start bigint;
    v_last bigint;
BEGIN
    -- Waits for transactions that have drawn from it, and makes others wait.
    EXECUTE format('ALTER SEQUENCE %s NO CYCLE', sequence);
    v_start := (SELECT seqstart FROM pg_sequence WHERE seqrelid = sequence);
    IF (v_start > 0) = stopped THEN
        RETURN;
    END IF;
    IF stopped THEN
        v_last := GREATEST(pg_sequence_last_value(sequence), 1);
        EXECUTE format('ALTER SEQUENCE %s START WITH %s RESTART WITH %s', sequence, v_last, c_last_tick);
        PERFORM setval(sequence, c_last_tick);
    ELSE
        EXECUTE format('ALTER SEQUENCE %s START WITH 0 RESTART WITH %s', sequence, v_start);
        PERFORM setval(sequence, v_start);
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.stop_ids(regclass, boolean) IS
'Internal: makes a sequence of ticks give no more, or lets it go on behind the last one it gave';

REVOKE EXECUTE ON FUNCTION shardflake.stop_ids(regclass, boolean) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.stop_ids(regclass, boolean);
