--liquibase formatted sql logicalFilePath:shardflake/functions/add_id_sequence.sql

--changeset shardflake:add_id_sequence runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.add_id_sequence(table_name regclass, column_name name DEFAULT 'id') RETURNS regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_table pg_class;
    v_schema name;
    v_type regtype;
    v_name text;
    v_sequence regclass;
BEGIN
    SELECT * INTO v_table FROM pg_class WHERE oid = table_name;
    v_schema := (SELECT nspname FROM pg_namespace WHERE oid = v_table.relnamespace);
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

    -- As complete_tables leaves a table: a changeset that says so itself later is right, too.
    SELECT q.seqrelid INTO v_sequence
      FROM pg_attribute a
      JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
      JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass
      JOIN pg_sequence q ON q.seqrelid = d.refobjid AND q.seqmax = 1125899906842623
      JOIN pg_depend o ON o.classid = 'pg_class'::regclass AND o.objid = q.seqrelid AND o.refclassid = 'pg_class'::regclass
       AND o.refobjid = a.attrelid AND o.refobjsubid = a.attnum AND o.deptype = 'a'
     WHERE a.attrelid = table_name AND a.attname = column_name;
    IF FOUND THEN
        RETURN v_sequence;
    END IF;

    v_name := left(v_table.relname, 58 - length(column_name)) || '_' || column_name || '_seq';
    -- Cut to fit, it can be the name of another table's. A name for these two alone then, the same in every shard.
    IF octet_length(v_name) > 63 OR length(v_name) < length(v_table.relname) + length(column_name) + 5 THEN
        v_sequence := to_regclass(format('%I.%I', v_schema, v_name::name));
        IF v_sequence IS NOT NULL AND NOT EXISTS (
            SELECT FROM pg_depend WHERE objid = v_sequence AND classid = 'pg_class'::regclass AND refobjid = table_name)
        THEN
            v_name := left(v_table.relname, 6) || '_' || md5(v_table.relname || '.' || column_name) || '_seq';
        END IF;
    END IF;
    v_sequence := shardflake.create_id_sequence(v_schema, v_name::name);
    EXECUTE format('ALTER SEQUENCE %s OWNED BY %s.%I', v_sequence, table_name, column_name);
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %I.next_id(%L::regclass)', table_name, column_name, v_schema, v_sequence);
    IF shardflake.adds_checks() THEN
        PERFORM shardflake.add_check(table_name, column_name);
    END IF;
    RETURN v_sequence;
END
$$;

COMMENT ON FUNCTION shardflake.add_id_sequence(regclass, name) IS
'Gives a table of a shard its own sequence, owned by the column, and the DEFAULT that makes its ids: next_id(sequence), and the check that keeps ids of other shards out. Returns the sequence. Errors: 22023 for a table outside a shard, 42804 for a column that is not bigint, 42P07 when something else has the name of the sequence. A column that has both already keeps them';

REVOKE EXECUTE ON FUNCTION shardflake.add_id_sequence(regclass, name) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.add_id_sequence(regclass, name);
