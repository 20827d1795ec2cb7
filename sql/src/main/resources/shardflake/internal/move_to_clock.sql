--liquibase formatted sql logicalFilePath:shardflake/internal/move_to_clock.sql

--changeset shardflake:move_to_clock runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.move_to_clock(sequence regclass, now_ticks bigint, margin bigint, lock bigint) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    -- The lock is the session's, since the transaction could stay open for long. It is taken, used and released in one expression:
    -- PostgreSQL looks for cancels and timeouts between statements and in functions that wait, and none of these waits.
    -- Each WHEN is done when the next one is looked at, which AND does not promise. A stopped sequence is below 0.
    RETURN CASE
        WHEN NOT pg_try_advisory_lock(lock) THEN -1
        WHEN COALESCE(pg_sequence_last_value(sequence), 0) NOT BETWEEN 0 AND now_ticks - margin - 1
            THEN CASE WHEN pg_advisory_unlock(lock) THEN NULL::bigint END
        WHEN setval(sequence, now_ticks | (COALESCE(pg_sequence_last_value(sequence), -1) + 1 & 1023)) IS NULL THEN NULL
        WHEN pg_advisory_unlock(lock) THEN currval(sequence)
    END;

COMMENT ON FUNCTION shardflake.move_to_clock(regclass, bigint, bigint, bigint) IS 'Internal: moves a sequence that lags by more than margin forward to now_ticks, with the count going on, and returns the tick drawn; NULL when it lags by less, -1 when another session has the lock. See advance_sequence';

REVOKE EXECUTE ON FUNCTION shardflake.move_to_clock(regclass, bigint, bigint, bigint) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.move_to_clock(regclass, bigint, bigint, bigint);
