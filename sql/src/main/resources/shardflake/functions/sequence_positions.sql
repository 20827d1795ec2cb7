--liquibase formatted sql logicalFilePath:shardflake/functions/sequence_positions.sql

--changeset shardflake:sequence_positions runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.sequence_positions(shard integer) RETURNS TABLE (sequence_name name, last_value bigint)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
/*
 * The fence stops the sequences of ids, and no others: nextval of those reads no table, so they may be drawn from until everybody
 * knows the new server. Hence a margin. Where it does not fit, an error: the last numbers are not given up, and none is given twice.
 * One at its end gives no more in either place. One that cycles repeats its numbers in any case, and goes round.
 */
DECLARE
    v_sequence record;
BEGIN
    RETURN QUERY
    SELECT n.sequence_name, pg_sequence_last_value(n.target) + CASE WHEN pg_sequence_last_value(n.target) < 0 THEN 1125899906842624 ELSE 0 END
      FROM shardflake.sequences(shard) n
     WHERE n.makes_ids AND pg_sequence_last_value(n.target) IS NOT NULL;
    FOR v_sequence IN
        SELECT r.*, s.seqincrement AS increment, s.seqcycle AS cycles, CASE WHEN s.seqincrement > 0 THEN s.seqmin ELSE s.seqmax END AS begins_at,
               div(r.ends_at::numeric - CASE WHEN s.seqincrement > 0 THEN s.seqmin ELSE s.seqmax END, s.seqincrement) + 1 AS numbers
          FROM shardflake.sequence_room(shard) r JOIN pg_sequence s ON s.seqrelid = r.target
    LOOP
        sequence_name := v_sequence.sequence_name;
        last_value := v_sequence.last_value;
        IF v_sequence.numbers_left >= v_sequence.margin THEN
            last_value := last_value + (v_sequence.margin - CASE WHEN v_sequence.is_called THEN 0 ELSE 1 END)::numeric * v_sequence.increment;
        ELSIF v_sequence.cycles AND v_sequence.numbers > v_sequence.margin THEN
            last_value := v_sequence.begins_at + (v_sequence.margin - v_sequence.numbers_left - 1) * v_sequence.increment;
        ELSIF v_sequence.numbers_left > 0 AND NOT v_sequence.cycles THEN
            RAISE EXCEPTION 'sequence % has % numbers left: it is at % and ends at %',
                    v_sequence.target, v_sequence.numbers_left, v_sequence.last_value, v_sequence.ends_at
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      DETAIL = format('A move leaves out %s, for sessions that draw from it while the shard changes server.', v_sequence.margin),
                      HINT = 'Give it room on all shards: a wider type (ALTER TABLE ... ALTER COLUMN ... TYPE bigint for an identity column, else ALTER SEQUENCE ... AS bigint), or another MAXVALUE or MINVALUE.';
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardflake.sequence_positions(integer) IS
'How far the sequences of a shard have come, for set_sequence_positions on another server: the last tick of those that make ids, and of others the value 32 times their cache further on. Error: 55000 for one that has not so many numbers left';

REVOKE EXECUTE ON FUNCTION shardflake.sequence_positions(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.sequence_positions(integer);
