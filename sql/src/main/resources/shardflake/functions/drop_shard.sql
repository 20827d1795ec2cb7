--liquibase formatted sql logicalFilePath:shardflake/functions/drop_shard.sql

--changeset shardflake:drop_shard runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.drop_shard(shard integer, force boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_schema text;
    v_table regclass;
    v_has_rows boolean;
BEGIN
    PERFORM shardflake.check_shard(shard);
    v_schema := shardflake.shard_schema(shard);
    IF to_regnamespace(v_schema) IS NULL THEN
        RAISE EXCEPTION 'shard % is not on this server: there is no schema %', shard, v_schema
            USING ERRCODE = 'invalid_schema_name',
                  HINT = 'Look for it with: SELECT nspname FROM pg_namespace WHERE nspname LIKE ''shard\_%''.';
    END IF;
    IF NOT force THEN
        FOR v_table IN
            SELECT oid FROM pg_class WHERE relnamespace = v_schema::regnamespace AND relkind IN ('r', 'p', 'm') ORDER BY relname
        LOOP
            EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', v_table);
            EXECUTE format('SELECT EXISTS (SELECT FROM %s)', v_table) INTO v_has_rows;
            IF v_has_rows THEN
                RAISE EXCEPTION 'shard % is not empty: table % has rows', shard, v_table
                    USING ERRCODE = 'dependent_objects_still_exist',
                          HINT = format('To drop the shard with all its rows: SELECT shardflake.drop_shard(%s, force => true).', shard);
            END IF;
        END LOOP;
    END IF;
    EXECUTE format('DROP SCHEMA %I CASCADE', v_schema);
END
$$;

COMMENT ON FUNCTION shardflake.drop_shard(integer, boolean) IS
'Drops the schema of a shard and everything in it; refuses while a table has rows, unless force is true. Errors: 22023 for a shard out of range, 3F000 when it is not here, 2BP01 when a table has rows';

REVOKE EXECUTE ON FUNCTION shardflake.drop_shard(integer, boolean) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.drop_shard(integer, boolean);
