--liquibase formatted sql logicalFilePath:shardflake/internal/draw_cold.sql

--changeset shardflake:draw_cold runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.draw_cold(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
/*
 * Runs as the caller. The second call is the first of a session for this sequence: nextval shows that
 * the caller may draw, and advance_sequence uses the number drawn, so that the count has no gap.
 */
DECLARE
    v_ticks bigint;
BEGIN
    v_ticks := shardflake.advance_sequence(shard, sequence);
    IF v_ticks IS NULL THEN
        v_ticks := shardflake.advance_sequence(shard, sequence, pg_catalog.nextval(sequence));
    END IF;
    RETURN v_ticks;
END
$$;

COMMENT ON FUNCTION shardflake.draw_cold(integer, regclass) IS 'Internal: the next tick of a sequence that lags the clock';

--rollback DROP FUNCTION shardflake.draw_cold(integer, regclass);
