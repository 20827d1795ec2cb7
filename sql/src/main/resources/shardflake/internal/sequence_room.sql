--liquibase formatted sql logicalFilePath:shardflake/internal/sequence_room.sql

--changeset shardflake:sequence_room runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.sequence_room(shard integer)
    RETURNS TABLE (target regclass, sequence_name name, last_value bigint, is_called boolean, ends_at bigint, numbers_left numeric, margin bigint)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 20
    SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
/*
 * The row of a sequence says more than pg_sequence_last_value: where one begins that was never drawn from, RESTART and setval among
 * others having set it.
 */
DECLARE
    v_increment bigint;
BEGIN
    FOR target, sequence_name, v_increment, ends_at, margin IN
        SELECT n.target, n.sequence_name, s.seqincrement, CASE WHEN s.seqincrement > 0 THEN s.seqmax ELSE s.seqmin END, 32 * LEAST(s.seqcache, 1000000000)
          FROM shardflake.sequences(shard) n JOIN pg_sequence s ON s.seqrelid = n.target
         WHERE NOT n.makes_ids
    LOOP
        EXECUTE format('SELECT last_value, is_called FROM %s', target) INTO last_value, is_called;
        numbers_left := div(ends_at::numeric - last_value, v_increment) + CASE WHEN is_called THEN 0 ELSE 1 END;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardflake.sequence_room(integer) IS
'Internal: the sequences of a shard that make no ids, how many numbers each has left, and how many a move leaves out';

REVOKE EXECUTE ON FUNCTION shardflake.sequence_room(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.sequence_room(integer);
