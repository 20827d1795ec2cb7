--liquibase formatted sql logicalFilePath:shardflake/internal/sequences.sql

--changeset shardflake:sequences runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.sequences(shard integer) RETURNS TABLE (target regclass, sequence_name name, makes_ids boolean)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 20 -- not 1000, for which indexes would not be used
    SET search_path = pg_catalog, pg_temp
AS $$
    -- By name, so that all who lock a shard's sequences do it in one order.
    SELECT c.oid::regclass, c.relname, s.seqmin = -1125899906842624 AND s.seqmax = 1125899906842623 -- as create_id_sequence makes them
      FROM shardflake.relations(shard) relation
      JOIN pg_class c ON c.oid = relation
      JOIN pg_sequence s ON s.seqrelid = c.oid
     ORDER BY c.relname COLLATE "C"
$$;

COMMENT ON FUNCTION shardflake.sequences(integer) IS
'Internal: the sequences of a shard, and whether each holds ticks for ids';

REVOKE EXECUTE ON FUNCTION shardflake.sequences(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.sequences(integer);
