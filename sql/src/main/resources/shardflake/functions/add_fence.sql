--liquibase formatted sql logicalFilePath:shardflake/functions/add_fence.sql

--changeset shardflake:add_fence runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.add_fence(table_name regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * A statement trigger costs nothing while it is disabled. It is there from the beginning because to enable a
 * trigger takes a weaker lock than to create one, for a shorter time.
 */
DECLARE
    v_schema name := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = table_name);
    v_fenced boolean;
BEGIN
    IF v_schema !~ '^shard_[0-9]{4}$' IS NOT FALSE THEN
        RAISE EXCEPTION 'table % is not in the schema of a shard', table_name
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Create the table in a schema made by shardflake.create_shard, shard_0007 for instance.';
    END IF;
    IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = table_name AND tgfoid = 'shardflake.fence_write'::regproc) THEN
        RETURN;
    END IF;
    v_fenced := shardflake.is_fenced(right(v_schema, 4)::integer);
    PERFORM shardflake.set_fence(table_name, v_fenced);
END
$$;

COMMENT ON FUNCTION shardflake.add_fence(regclass) IS
'Gives a table of a shard the trigger by which fence_shard refuses writes, disabled unless the shard is fenced now; does nothing when it is there. Error: 22023 for a table outside a shard';

REVOKE EXECUTE ON FUNCTION shardflake.add_fence(regclass) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.add_fence(regclass);
