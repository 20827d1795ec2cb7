--liquibase formatted sql logicalFilePath:shardflake/functions/complete_tables.sql

--changeset shardflake:complete_tables runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.complete_tables(shard integer) RETURNS integer
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_generic_plan -- or it would be planned for each shard, which takes longer than to run it
AS $$
/*
 * A column that is the whole primary key, bigint, and filled by nothing else is taken to be an id. One that
 * references another table has its values from there.
 */
DECLARE
    v_table record;
    v_completed integer := 0;
BEGIN
    FOR v_table IN
        SELECT c.oid::regclass AS target, k.conkey AS key, a.attname AS id,
               a.atttypid = 'bigint'::regtype AND NOT a.atthasdef AND a.attidentity = '' AND NOT c.relispartition
                   AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f' AND k.conkey[1] = ANY (f.conkey))
                   AS needs_ids,
               NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgfoid = 'shardflake.fence_write'::regproc)
                   AS needs_fence
          FROM shardflake.relations(shard) relation
          JOIN pg_class c ON c.oid = relation
          LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
          LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1] AND cardinality(k.conkey) = 1
         WHERE c.relkind IN ('r', 'p')
         ORDER BY c.relname COLLATE "C"
    LOOP
        IF v_table.key IS NULL THEN
            RAISE EXCEPTION 'table % has no primary key', v_table.target
                USING ERRCODE = 'invalid_table_definition',
                      HINT = 'Add one: without it the rows of a shard can be neither replicated to another server nor compared.';
        END IF;
        IF v_table.needs_ids THEN
            PERFORM shardflake.add_id_sequence(v_table.target, v_table.id);
        END IF;
        IF v_table.needs_fence THEN
            PERFORM shardflake.add_fence(v_table.target);
            v_completed := v_completed + 1;
        END IF;
    END LOOP;
    RETURN v_completed;
END
$$;

COMMENT ON FUNCTION shardflake.complete_tables(integer) IS
'Gives the tables of a shard what they lack: a sequence and DEFAULT for an id (a bigint that is the whole primary key and filled by nothing else), and a fence. Returns how many tables were new. Errors: 42P16 for a table without a primary key';

REVOKE EXECUTE ON FUNCTION shardflake.complete_tables(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.complete_tables(integer);
