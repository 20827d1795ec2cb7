--liquibase formatted sql logicalFilePath:shardflake/internal/move_to_clock.sql

--changeset shardflake:move_to_clock runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.move_to_clock(sequence regclass, now_ticks bigint, margin bigint, first bigint, lock bigint) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    -- The lock is the session's, since the transaction could stay open for long. It is taken, used and released in one expression:
    -- PostgreSQL looks for cancels and timeouts between statements and in functions that wait, and none of these waits.
    -- Each WHEN is done when the next one is looked at, which AND does not promise. Sums are added up from the left.
    RETURN CASE
        WHEN NOT pg_try_advisory_lock(lock) THEN -1::bigint
        -- Not called: new, restarted, or left by a server that crashed between the two setval below. nextval tells, and it is not lost.
        WHEN CASE WHEN pg_sequence_last_value(sequence) IS NULL
                  THEN CASE WHEN nextval(sequence) < 0::bigint THEN setval(sequence, currval(sequence) + 1125899906842624) END END < 0::bigint
            THEN NULL::bigint
        WHEN pg_sequence_last_value(sequence) < 0::bigint THEN CASE WHEN pg_advisory_unlock(lock) THEN -2::bigint END
        WHEN pg_sequence_last_value(sequence) >= now_ticks - margin THEN CASE WHEN pg_advisory_unlock(lock) THEN NULL::bigint END
        WHEN setval(sequence,
                    ((pg_sequence_last_value(sequence) + 1::bigint - first) & 1023::bigint)
                    | (least(greatest(
                            0::bigint - shardflake.draws_now()
                                + setval(sequence, pg_sequence_last_value(sequence) - 1125899906842624, false)
                                + shardflake.draws_now() + 1125899906842688, -- 2^50 + 64
                            now_ticks) + 1023::bigint, 1125899906842623) >> 10 << 10)) IS NULL
            THEN CASE WHEN pg_advisory_unlock(lock) THEN NULL::bigint END
        WHEN pg_advisory_unlock(lock) THEN currval(sequence)
    END;

COMMENT ON FUNCTION shardflake.move_to_clock(regclass, bigint, bigint, bigint, bigint) IS 'Internal: moves a sequence that lags by more than margin forward to now_ticks, with the count going on, and returns the tick drawn; NULL when it lags by less, -1 when another session has the lock, -2 when the sequence is stopped. first is 1 when it was never drawn from. See advance_sequence';

REVOKE EXECUTE ON FUNCTION shardflake.move_to_clock(regclass, bigint, bigint, bigint, bigint) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.move_to_clock(regclass, bigint, bigint, bigint, bigint);
