--liquibase formatted sql logicalFilePath:shardflake/functions/drop_shard.sql

--changeset shardflake:drop_shard runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.drop_shard(shard integer, force boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_schema text;
    v_table record;
    v_has_rows boolean;
    v_others text[];
BEGIN
    PERFORM shardflake.check_shard(shard);
    v_schema := shardflake.shard_schema(shard);
    IF to_regnamespace(v_schema) IS NULL THEN
        RAISE EXCEPTION 'shard % is not on this server: there is no schema %', shard, v_schema
            USING ERRCODE = 'invalid_schema_name',
                  HINT = 'Look for it with: SELECT nspname FROM pg_namespace WHERE nspname ~ ''^shard_''.';
    END IF;
    IF NOT force THEN
        FOR v_table IN
            SELECT oid::regclass AS target, relkind FROM pg_class
             WHERE relnamespace = v_schema::regnamespace AND relkind IN ('r', 'p', 'm') AND relispopulated ORDER BY relname
        LOOP
            IF v_table.relkind <> 'm' THEN -- which has no rows of its own, and cannot be locked
                EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', v_table.target);
            END IF;
            EXECUTE format('SELECT EXISTS (SELECT FROM %s)', v_table.target) INTO v_has_rows;
            IF v_has_rows THEN
                RAISE EXCEPTION 'shard % is not empty: table % has rows', shard, v_table.target
                    USING ERRCODE = 'dependent_objects_still_exist',
                          HINT = format('To drop the shard with all its rows: SELECT shardflake.drop_shard(%s, force => true).', shard);
            END IF;
        END LOOP;
        v_others := ARRAY(SELECT o FROM shardflake.outside_dependents(shard) o);
        IF cardinality(v_others) > 0 THEN
            RAISE EXCEPTION 'shard % cannot be dropped: % outside of it %: %', shard,
                    CASE cardinality(v_others) WHEN 1 THEN '1 object' ELSE cardinality(v_others) || ' objects' END,
                    CASE cardinality(v_others) WHEN 1 THEN 'depends on it' ELSE 'depend on it' END,
                    array_to_string(v_others[:5], ', ') || CASE WHEN cardinality(v_others) > 5 THEN ', ...' ELSE '' END
                USING ERRCODE = 'dependent_objects_still_exist',
                      HINT = format('Drop or change them first. To drop them too, and all rows of the shard: SELECT shardflake.drop_shard(%s, force => true).', shard);
        END IF;
    END IF;
    EXECUTE format('DROP SCHEMA %I CASCADE', v_schema);
    -- Its history goes with it, or a shard created anew would be taken to have had these changesets.
    IF has_table_privilege(to_regclass('shardflake_deploy.databasechangelog'), 'DELETE') THEN
        EXECUTE format('DELETE FROM shardflake_deploy.databasechangelog WHERE starts_with(filename, %L)', v_schema || '/');
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.drop_shard(integer, boolean) IS
'Drops the schema of a shard and everything in it, and the lines of its history; refuses while a table has rows or something outside of the schema depends on it, unless force is true. Errors: 22023 for a shard out of range, 3F000 when it is not here, 2BP01 when a table has rows or something outside depends on the shard';

REVOKE EXECUTE ON FUNCTION shardflake.drop_shard(integer, boolean) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.drop_shard(integer, boolean);
