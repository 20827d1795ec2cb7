--liquibase formatted sql logicalFilePath:shardflake/internal/outside_relatives.sql

--changeset shardflake:outside_relatives runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.outside_relatives(shard integer) RETURNS TABLE (target regclass, relative regclass)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.oid::regclass, o.oid::regclass
      FROM shardflake.relations(shard) relation
      JOIN pg_class c ON c.oid = relation AND c.relkind IN ('r', 'p', 'f')
     CROSS JOIN LATERAL (SELECT inhparent FROM pg_inherits WHERE inhrelid = c.oid
                         UNION ALL
                         SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid) i (relative)
      JOIN pg_class o ON o.oid = i.relative AND o.relnamespace <> c.relnamespace
     ORDER BY c.relname COLLATE "C", o.oid
$$;

COMMENT ON FUNCTION shardflake.outside_relatives(integer) IS
'Internal: the tables of a shard that are a partition, parent or child, by partitioning or INHERITS, of a table outside it';

REVOKE EXECUTE ON FUNCTION shardflake.outside_relatives(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.outside_relatives(integer);

--changeset shardflake:refuse_relatives runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.refuse_relatives(shard integer) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_table record;
BEGIN
    SELECT * INTO v_table FROM shardflake.outside_relatives(shard) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'table % belongs together with table %, which is not in the schema of shard %', v_table.target, v_table.relative, shard
            USING ERRCODE = 'invalid_table_definition',
                  DETAIL = 'A write to the one reaches the rows of the other, where a fence of its own does not see it.',
                  HINT = 'Take them apart, with ALTER TABLE ... NO INHERIT or ALTER TABLE ... DETACH PARTITION, or bring both into the shard''s schema.';
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.refuse_relatives(integer) IS
'Internal: raises an error for a table of a shard that a write outside the shard would reach. Error: 42P16';

REVOKE EXECUTE ON FUNCTION shardflake.refuse_relatives(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.refuse_relatives(integer);
