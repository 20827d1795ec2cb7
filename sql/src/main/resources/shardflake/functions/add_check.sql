--liquibase formatted sql logicalFilePath:shardflake/functions/add_check.sql

--changeset shardflake:add_check runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.add_check(table_name regclass, column_name name, shard_count integer DEFAULT NULL) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * Operators of pg_catalog only, so that the check costs little and no function can be changed under it. A table with rows gets it
 * NOT VALID: it holds for what is written from now on, and is to be validated when nobody waits for the table.
 */
DECLARE
    v_schema name := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = table_name);
    v_type regtype := (SELECT atttypid FROM pg_attribute WHERE attrelid = table_name AND attname = column_name AND attnum > 0 AND NOT attisdropped);
    v_name name := shardflake.check_name(column_name);
    v_shard integer;
    v_has_rows boolean;
BEGIN
    IF v_schema !~ '^shard_[0-9]{4}$' IS NOT FALSE THEN
        RAISE EXCEPTION 'table % is not in the schema of a shard', table_name
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'The schema names the shard, such as shard_0007.';
    END IF;
    v_shard := right(v_schema, 4)::integer;
    IF shard_count NOT BETWEEN v_shard + 1 AND 8192 THEN
        RAISE EXCEPTION 'shard count % is out of range %..8192', shard_count, v_shard + 1
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Pass the number of shards of the installation; it was chosen at init.';
    END IF;
    IF v_type IN ('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype) IS NOT TRUE OR shard_count IS NULL AND v_type <> 'bigint'::regtype THEN
        RAISE EXCEPTION 'column % of table % is %, but % is', column_name, table_name, COALESCE(v_type::text, 'missing'),
                CASE WHEN shard_count IS NULL THEN 'an id is bigint' ELSE 'a uid that can be checked is bigint, integer or smallint' END
            USING ERRCODE = 'datatype_mismatch',
                  HINT = 'Pass the name of such a column.';
    END IF;
    IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = table_name AND conname = v_name) THEN
        RETURN false;
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', table_name) INTO v_has_rows;
    EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%s)%s', table_name, v_name,
        CASE WHEN shard_count IS NULL THEN format('(%I >> 10 & 8191) = %s', column_name, v_shard)
             ELSE format('((%1$I %% %2$s) + %2$s) %% %2$s = %3$s', column_name, shard_count, v_shard) END,
        CASE WHEN v_has_rows THEN ' NOT VALID' ELSE '' END);
    RETURN true;
END
$$;

COMMENT ON FUNCTION shardflake.add_check(regclass, name, integer) IS
'Makes a table of a shard refuse ids of other shards or, with the number of shards of the installation, uids of other shards: a check COLUMN_of_shard, NOT VALID if the table has rows. Null passes. Returns false when a constraint of that name is there. Errors: 22023 for a table outside a shard or a shard count out of range, 42804 for a column of another type';

-- Not revoked from PUBLIC: whoever was granted add_id_sequence needs it too, and it changes what the caller may change anyway.

--rollback DROP FUNCTION shardflake.add_check(regclass, name, integer);
