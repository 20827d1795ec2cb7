--liquibase formatted sql logicalFilePath:shardflake/internal/fence_tables.sql

--changeset shardflake:fence_tables runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.fence_tables(shard integer, fenced boolean) RETURNS integer
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
            USING ERRCODE = 'invalid_schema_name', HINT = 'Look up the server of the shard in the shard map.';
    END IF;
    IF fenced THEN
        PERFORM shardflake.refuse_relatives(shard);
    END IF;
    FOR v_table IN SELECT * FROM shardflake.fences(shard) LOOP
        IF NOT v_table.present THEN
            RAISE EXCEPTION 'table % has no fence', v_table.target
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      HINT = format('Add it first: SELECT shardflake.add_fence(%L).', v_table.target);
        END IF;
        PERFORM shardflake.set_fence(v_table.target, fenced);
        v_tables := v_tables + 1;
    END LOOP;
    RETURN v_tables;
END
$$;

COMMENT ON FUNCTION shardflake.fence_tables(integer, boolean) IS
'Internal: puts the fences of all tables of a shard up or down, and returns how many there are';

REVOKE EXECUTE ON FUNCTION shardflake.fence_tables(integer, boolean) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.fence_tables(integer, boolean);

--changeset shardflake:fence_ids runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.fence_ids(shard integer, fenced boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * Routers go by an answer of require_open for 1.5 ms, see OpenShards.java. One that was given before the ids were stopped came with the
 * number of an earlier fence. So whoever fences waits 2 ms after this before another server may open the shard: also where the ids were
 * stopped before, since that may be left of an attempt that came no further.
 *
 * The number is random, so that none comes back with a crash, a failover or a restore.
 */
BEGIN
    IF fenced THEN
        PERFORM shardflake.stop_ids(s.target) FROM shardflake.sequences(shard) s WHERE s.makes_ids;
        PERFORM setval('shardflake.last_fence', hashtextextended(gen_random_uuid()::text, 0));
    ELSE
        PERFORM shardflake.start_ids(s.target) FROM shardflake.sequences(shard) s WHERE s.makes_ids;
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.fence_ids(integer, boolean) IS
'Internal: stops the ids of a shard, which routers know 2 ms later, or lets them go on. Not undone by a rollback';

REVOKE EXECUTE ON FUNCTION shardflake.fence_ids(integer, boolean) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.fence_ids(integer, boolean);
