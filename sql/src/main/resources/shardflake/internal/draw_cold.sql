--liquibase formatted sql logicalFilePath:shardflake/internal/draw_cold.sql

--changeset shardflake:draw_cold runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.draw_cold(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    -- Runs as the caller, since advance_sequence cannot know who that is. Without the right to draw, nextval says what is missing.
    RETURN COALESCE(
        CASE WHEN has_sequence_privilege(sequence, 'USAGE, UPDATE') IS NOT FALSE THEN shardflake.advance_sequence(shard, sequence) END,
        nextval(sequence));

COMMENT ON FUNCTION shardflake.draw_cold(integer, regclass) IS 'Internal: the next tick of a sequence that lags the clock';

--rollback DROP FUNCTION shardflake.draw_cold(integer, regclass);
