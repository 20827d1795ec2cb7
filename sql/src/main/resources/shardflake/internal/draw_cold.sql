--liquibase formatted sql logicalFilePath:shardflake/internal/draw_cold.sql

--changeset shardflake:draw_cold runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.draw_cold(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    -- Runs as the caller, whom advance_sequence cannot know, and is the only way there: nobody may use the schema that it is in,
    -- and this body needs no right to it, having been parsed already. Without the right to draw, nextval says what is missing.
    RETURN COALESCE(
        CASE WHEN has_sequence_privilege(sequence, 'USAGE, UPDATE') IS NOT FALSE THEN shardflake_internal.advance_sequence(shard, sequence) END,
        nextval(sequence));

COMMENT ON FUNCTION shardflake.draw_cold(integer, regclass) IS 'Internal: the next tick of a sequence that lags the clock';

--rollback DROP FUNCTION shardflake.draw_cold(integer, regclass);
