--liquibase formatted sql logicalFilePath:shardflake/functions/create_shard.sql

--changeset shardflake:create_shard runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.create_shard(shard integer) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * The wrappers are LANGUAGE sql with a parsed body: PostgreSQL inlines them, their names are resolved
 * here and now, and DROP FUNCTION refuses to take shardflake.draw_id from under them.
 */
DECLARE
    v_schema text;
    v_sequence regclass;
BEGIN
    PERFORM shardflake.check_shard(shard);
    v_schema := shardflake.shard_schema(shard);
    IF to_regnamespace(v_schema) IS NOT NULL THEN
        RAISE EXCEPTION 'shard % is on this server already: schema % exists', shard, v_schema
            USING ERRCODE = 'duplicate_schema',
                  HINT = format('To start over, drop it first: SELECT shardflake.drop_shard(%s).', shard);
    END IF;

    EXECUTE format('CREATE SCHEMA %I', v_schema);
    -- What is remembered is of one that was here before.
    IF has_table_privilege('shardflake.placement', 'DELETE') THEN
        DELETE FROM shardflake.placement p WHERE p.shard = create_shard.shard;
    END IF;
    v_sequence := shardflake.create_id_sequence(v_schema, 'id_seq');
    EXECUTE format(
        'CREATE FUNCTION %I.next_id(sequence regclass) RETURNS bigint LANGUAGE sql VOLATILE PARALLEL UNSAFE
         RETURN shardflake.draw_id(%s, sequence)', v_schema, shard);
    EXECUTE format(
        'CREATE FUNCTION %I.next_id() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL UNSAFE
         RETURN shardflake.draw_id(%s, %L::regclass)', v_schema, shard, v_sequence);
    EXECUTE format('COMMENT ON SCHEMA %I IS %L', v_schema, format('Shardflake: logical shard %s', shard));
    RETURN v_schema;
END
$$;

COMMENT ON FUNCTION shardflake.create_shard(integer) IS
'Creates the schema of a shard (0..8191) with its own sequence id_seq and its next_id functions, and returns the schema''s name. Errors: 22023 for a shard out of range, 42P06 when it exists';

REVOKE EXECUTE ON FUNCTION shardflake.create_shard(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.create_shard(integer);
