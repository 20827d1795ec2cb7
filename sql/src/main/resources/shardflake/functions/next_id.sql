--liquibase formatted sql logicalFilePath:shardflake/functions/next_id.sql

--changeset shardflake:next_id runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.draw_id(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
/*
 * The sequence is the clock: it holds ticks, milliseconds since the epoch * 1024 + count, and hands out each once.
 * As long as it lags the real clock by 3 ms at most (or runs ahead of it) a plain nextval is the whole
 * work; otherwise draw_cold moves it forward. So ids of one sequence never repeat and always increase,
 * whatever the clock does; advance_sequence says why that needs no lock here.
 *
 * No operator stands in this body and every name is qualified, so the caller's search_path does not matter,
 * and no SET clause makes the call slower. PL/pgSQL prepares an expression anew in every transaction, at some
 * 0.1 us for each operator and function in it: hence few of them, and the cold path in a statement of its own.
 */
DECLARE
    v_ticks bigint;
BEGIN
    IF shardflake.is_hot(pg_catalog.pg_sequence_last_value(sequence)) THEN
        v_ticks := pg_catalog.nextval(sequence);
    ELSE
        v_ticks := shardflake.draw_cold(shard, sequence);
    END IF;
    WHILE shardflake.is_stopped(v_ticks) LOOP -- fenced, or moved forward by another at this moment
        v_ticks := shardflake.draw_cold(shard, sequence);
    END LOOP;
    RETURN shardflake.compose_id(v_ticks, shard);
END
$$;

COMMENT ON FUNCTION shardflake.draw_id(integer, regclass) IS
'Internal: what next_id does for a shard in range. It has a name of its own because PostgreSQL looks a name up among all functions that have it, and each shard has two next_id';

DROP FUNCTION IF EXISTS shardflake.refuse_draw(integer, regclass); -- as it was in earlier snapshots

-- Beside draw_id, so that a rollback that cannot drop that leaves this too.
CREATE OR REPLACE FUNCTION shardflake.next_id(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    -- Gone from the plan where the shard is a constant. What is out of range draw_cold refuses.
    RETURN CASE WHEN shardflake.is_shard(shard) THEN shardflake.draw_id(shard, sequence) ELSE shardflake.draw_cold(shard, sequence) END;

COMMENT ON FUNCTION shardflake.next_id(integer, regclass) IS
'A new id: 41 bits of milliseconds since the epoch, 13 bits of shard (0..8191), 10 bits of sequence. Never repeats and always increases for one sequence. The sequence must be in the shard''s schema, which is checked when it lags the clock and not for every id; needs USAGE on both. Errors: 22023 for a shard out of range or a sequence of another schema, SF001 when the shard is fenced, SF002 when the clock is outside the time that ids can hold';

--rollback DROP FUNCTION shardflake.next_id(integer, regclass); DROP FUNCTION shardflake.draw_id(integer, regclass);
