--liquibase formatted sql logicalFilePath:shardflake/functions/add_id_sequence.sql

--changeset shardflake:add_id_sequence runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.add_id_sequence(table_name regclass, column_name name DEFAULT 'id') RETURNS regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_table pg_class;
    v_schema name;
    v_type regtype;
    v_sequence regclass;
BEGIN
    SELECT * INTO v_table FROM pg_class WHERE oid = table_name;
    v_schema := v_table.relnamespace::regnamespace;
    IF v_schema !~ '^shard_[0-9]{4}$' THEN
        RAISE EXCEPTION 'table % is not in the schema of a shard', table_name
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Create the table in a schema made by shardflake.create_shard, shard_0007 for instance.';
    END IF;
    SELECT atttypid::regtype INTO v_type FROM pg_attribute
     WHERE attrelid = table_name AND attname = column_name AND attnum > 0 AND NOT attisdropped;
    IF v_type IS DISTINCT FROM 'bigint'::regtype THEN
        RAISE EXCEPTION 'column % of table % is %, but an id is bigint', column_name, table_name, COALESCE(v_type::text, 'missing')
            USING ERRCODE = 'datatype_mismatch',
                  HINT = 'Pass the name of a bigint column as the second argument, or change the type of this one.';
    END IF;

    v_sequence := shardflake.create_id_sequence(v_schema, left(v_table.relname, 58 - length(column_name)) || '_' || column_name || '_seq');
    EXECUTE format('ALTER SEQUENCE %s OWNED BY %s.%I', v_sequence, table_name, column_name);
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %I.next_id(%L::regclass)', table_name, column_name, v_schema, v_sequence);
    RETURN v_sequence;
END
$$;

COMMENT ON FUNCTION shardflake.add_id_sequence(regclass, name) IS
'Gives a table of a shard its own sequence, owned by the column, and the DEFAULT that makes its ids: next_id(sequence). Returns the sequence. Errors: 22023 for a table outside a shard, 42804 for a column that is not bigint, 42P07 when the sequence is there already';

REVOKE EXECUTE ON FUNCTION shardflake.add_id_sequence(regclass, name) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.add_id_sequence(regclass, name);
