--liquibase formatted sql logicalFilePath:shardflake/internal/set_fence.sql

--changeset shardflake:set_fence runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.set_fence(shard integer, fenced boolean) RETURNS integer
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_table record;
    v_tables integer := 0;
BEGIN
    PERFORM shardflake.check_shard(shard);
    IF to_regnamespace(shardflake.shard_schema(shard)) IS NULL THEN
        RAISE EXCEPTION 'shard % is not on this server: schema % is missing', shard, shardflake.shard_schema(shard)
            USING ERRCODE = 'invalid_schema_name', HINT = 'Look the server of the shard up in the shard map.';
    END IF;
    FOR v_table IN SELECT * FROM shardflake.fences(shard) LOOP
        IF NOT v_table.present THEN
            RAISE EXCEPTION 'table % has no fence', v_table.target
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      HINT = format('Add it first: SELECT shardflake.add_fence(%L).', v_table.target);
        END IF;
        -- ENABLE, not ENABLE ALWAYS: logical replication is to pass.
        EXECUTE format('ALTER TABLE %s %s TRIGGER shardflake_fence', v_table.target, CASE WHEN fenced THEN 'ENABLE' ELSE 'DISABLE' END);
        v_tables := v_tables + 1;
    END LOOP;
    PERFORM shardflake.stop_ids(s.target, fenced) FROM shardflake.sequences(shard) s WHERE s.makes_ids;
    RETURN v_tables;
END
$$;

COMMENT ON FUNCTION shardflake.set_fence(integer, boolean) IS
'Internal: puts the fences of all tables of a shard up or down and stops its ids or lets them go on, and returns how many tables there are';

REVOKE EXECUTE ON FUNCTION shardflake.set_fence(integer, boolean) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.set_fence(integer, boolean);
