--liquibase formatted sql logicalFilePath:shardflake/functions/sequence_positions.sql

--changeset shardflake:sequence_positions runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.sequence_positions(shard integer) RETURNS TABLE (sequence_name name, last_value bigint)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    -- The fence stops the sequences of ids, and no others: those may be drawn from until their copy goes on, hence the margin.
    SELECT n.sequence_name,
           CASE WHEN n.makes_ids THEN pg_sequence_last_value(n.target) + CASE WHEN pg_sequence_last_value(n.target) < 0 THEN 1125899906842624 ELSE 0 END
                WHEN s.seqincrement > 0 THEN LEAST(pg_sequence_last_value(n.target)::numeric + 32 * s.seqcache * s.seqincrement::numeric, s.seqmax)
                ELSE GREATEST(pg_sequence_last_value(n.target)::numeric + 32 * s.seqcache * s.seqincrement::numeric, s.seqmin) END::bigint
      FROM shardflake.sequences(shard) n
      JOIN pg_sequence s ON s.seqrelid = n.target
     WHERE pg_sequence_last_value(n.target) IS NOT NULL
$$;

COMMENT ON FUNCTION shardflake.sequence_positions(integer) IS
'How far the sequences of a shard have come, for set_sequence_positions on another server: the last tick of those that make ids, and of others the last value and 32 times their cache. Those never drawn from are left out';

REVOKE EXECUTE ON FUNCTION shardflake.sequence_positions(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.sequence_positions(integer);
