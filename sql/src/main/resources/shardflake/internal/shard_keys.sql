--liquibase formatted sql logicalFilePath:shardflake/internal/shard_keys.sql

--changeset shardflake:shard_keys runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.shard_keys(shard integer)
    RETURNS TABLE (target regclass, column_name name, attnum smallint, said boolean)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 20 -- not 1000, for which indexes would not be used
    SET search_path = pg_catalog, pg_temp
AS $$
    -- What a table says itself comes before the column that was named for all tables.
    SELECT k.target, k.attname, k.attnum, k.said
      FROM (SELECT c.oid::regclass AS target, a.attname, a.attnum, s.objoid IS NOT NULL AS said, bool_or(s.objoid IS NOT NULL) OVER (PARTITION BY c.oid) AS one_said
              FROM shardflake.relations(shard) relation
              JOIN pg_class c ON c.oid = relation AND c.relkind IN ('r', 'p')
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
              LEFT JOIN pg_description s ON s.classoid = 'pg_class'::regclass AND s.objoid = c.oid AND s.objsubid = a.attnum
               AND s.description ~* '^shard key([^[:alnum:]_]|$)') k
     WHERE CASE WHEN k.one_said THEN k.said ELSE k.attname = (SELECT u.column_name FROM shardflake.uid_column u) END
$$;

COMMENT ON FUNCTION shardflake.shard_keys(integer) IS
'Internal: the column of each table of a shard by which its rows belong to the shard, as far as it is known: the one with a comment that begins with shard key, or else the recorded uid column';

REVOKE EXECUTE ON FUNCTION shardflake.shard_keys(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.shard_keys(integer);
