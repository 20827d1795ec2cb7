--liquibase formatted sql logicalFilePath:shardflake/functions/set_sequence_positions.sql

--changeset shardflake:set_sequence_positions runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.set_sequence_positions(shard integer, sequence_names name[], last_values bigint[]) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sequence record;
BEGIN
    PERFORM shardflake.check_shard(shard);
    FOR v_sequence IN
        SELECT n.target, n.makes_ids, p.sequence_name AS name, p.last_value, pg_sequence_last_value(n.target) AS rests_at,
               s.seqincrement > 0 AS goes_up, s.seqcycle AS cycles
          FROM unnest(sequence_names, last_values) p (sequence_name, last_value)
          LEFT JOIN shardflake.sequences(shard) n ON n.sequence_name = p.sequence_name
          LEFT JOIN pg_sequence s ON s.seqrelid = n.target
    LOOP
        IF v_sequence.target IS NULL THEN
            RAISE EXCEPTION 'shard % has no sequence % on this server', shard, v_sequence.name
                USING ERRCODE = 'undefined_table',
                      HINT = 'Deploy the same schema on both servers.';
        END IF;
        IF NOT v_sequence.makes_ids THEN
            PERFORM setval(v_sequence.target, CASE WHEN v_sequence.cycles THEN v_sequence.last_value
                WHEN v_sequence.goes_up THEN GREATEST(v_sequence.rests_at, v_sequence.last_value)
                ELSE LEAST(v_sequence.rests_at, v_sequence.last_value) END);
        ELSIF v_sequence.rests_at < 0 IS NOT TRUE THEN
            RAISE EXCEPTION 'shard % makes ids on this server', shard
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      HINT = format('Fence it first: SELECT shardflake.fence_shard(%s).', shard);
        ELSE
            PERFORM setval(v_sequence.target, GREATEST(v_sequence.rests_at, v_sequence.last_value - 1125899906842624)); -- see stop_ids
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardflake.set_sequence_positions(integer, name[], bigint[]) IS
'Makes the sequences of a fenced shard go on behind these values when it is unfenced; none is set back but one that cycles. Errors: 42P01 for a sequence that is not here, 55000 when the shard is not fenced';

REVOKE EXECUTE ON FUNCTION shardflake.set_sequence_positions(integer, name[], bigint[]) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.set_sequence_positions(integer, name[], bigint[]);
