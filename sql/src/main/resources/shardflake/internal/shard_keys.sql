--liquibase formatted sql logicalFilePath:shardflake/internal/shard_keys.sql

--changeset shardflake:shard_keys runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.shard_keys(shard integer)
    RETURNS TABLE (target regclass, column_name name, attnum smallint, said boolean)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 20 -- not 1000, for which indexes would not be used
    SET search_path = pg_catalog, pg_temp
AS $$
    -- What a table says itself comes before the column that was named for all tables.
    SELECT c.oid::regclass, a.attname, a.attnum, k.rank = 1
      FROM shardflake.relations(shard) relation
      JOIN pg_class c ON c.oid = relation AND c.relkind IN ('r', 'p')
     CROSS JOIN LATERAL (
           SELECT s.objsubid::int2 AS attnum, 1 AS rank FROM pg_description s
            WHERE s.classoid = 'pg_class'::regclass AND s.objoid = c.oid AND s.objsubid > 0 AND s.description ~* '^shard key([^[:alnum:]_]|$)'
            UNION ALL
           SELECT n.attnum, 2 FROM shardflake.uid_column u JOIN pg_attribute n ON n.attname = u.column_name
            WHERE n.attrelid = c.oid AND n.attnum > 0 AND NOT n.attisdropped
              AND NOT EXISTS (SELECT FROM pg_description s
                               WHERE s.classoid = 'pg_class'::regclass AND s.objoid = c.oid AND s.objsubid > 0 AND s.description ~* '^shard key([^[:alnum:]_]|$)')) k
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND NOT a.attisdropped
$$;

COMMENT ON FUNCTION shardflake.shard_keys(integer) IS
'Internal: the column of each table of a shard by which its rows belong to the shard, as far as it is known: the one with a comment that begins with shard key, or else the recorded uid column';

REVOKE EXECUTE ON FUNCTION shardflake.shard_keys(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.shard_keys(integer);
