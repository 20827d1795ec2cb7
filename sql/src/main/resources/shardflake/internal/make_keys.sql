--liquibase formatted sql logicalFilePath:shardflake/internal/make_keys.sql

--changeset shardflake:make_keys runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.make_keys(table_name regclass, column_name name, shard_count integer) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * A table that was there before its comment makes ids. That is changed unless it has rows with such ids: they say another shard.
 */
DECLARE
    v_schema name := (SELECT nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = table_name);
    v_check name := shardflake.check_name(column_name);
    v_sequence regclass;
    v_strays boolean;
BEGIN
    IF shard_count IS NULL THEN
        RAISE EXCEPTION 'table % is keyed by %, and this server does not know how many shards there are', table_name, column_name
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Deploy the table with shardflake schema deploy, which records it.';
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM %1$s WHERE ((%2$I %% %3$s) + %3$s) %% %3$s <> %4$s)', table_name, column_name, shard_count, right(v_schema, 4)::integer)
       INTO v_strays;
    IF v_strays THEN
        RAISE EXCEPTION 'table % cannot be keyed by %: it has rows whose % is a key of another shard', table_name, column_name, column_name
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Name the key in the changeset that creates the table, before it has rows; copy the rows of this one into a new table.';
    END IF;
    v_sequence := pg_get_serial_sequence(table_name::text, column_name);
    IF v_sequence IS NULL THEN
        v_sequence := shardflake.add_id_sequence(table_name, column_name);
    END IF;
    -- That of ids would refuse keys.
    IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = table_name AND conname = v_check AND pg_get_constraintdef(oid) ~ ' >> 10[)] & ') THEN
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', table_name, v_check);
    END IF;
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT shardflake.id_to_key(%I.next_id(%L::regclass), %s)',
                   table_name, column_name, v_schema, v_sequence, shard_count);
END
$$;

COMMENT ON FUNCTION shardflake.make_keys(regclass, name, integer) IS
'Internal: gives the key column of a table its own sequence and the DEFAULT that makes keys of the shard. Error: 55000 while it has keys of other shards, or when the number of shards is not known';

REVOKE EXECUTE ON FUNCTION shardflake.make_keys(regclass, name, integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.make_keys(regclass, name, integer);

--changeset shardflake:refuse_misrouting runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.refuse_misrouting(shard integer, tables regclass[]) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * A key that refers to an id of next_id: the row referred to is in the shard that the id was drawn in, and the rows that refer to it
 * belong to the shard id mod shard_count, which is another.
 */
DECLARE
    v_key record;
BEGIN
    SELECT y.target, y.column_name, f.confrelid::regclass AS referred, a.attname AS id INTO v_key
      FROM shardflake.shard_keys(shard) y
      JOIN pg_constraint f ON f.conrelid = y.target AND f.contype = 'f' AND y.attnum = ANY (f.conkey)
      JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = f.confkey[array_position(f.conkey, y.attnum)]
      JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE y.target = ANY (tables) AND pg_get_expr(d.adbin, d.adrelid) ~ 'next_id[(]' AND pg_get_expr(d.adbin, d.adrelid) !~ 'id_to_key[(]'
     ORDER BY y.target::text COLLATE "C"
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'table % is keyed by %, which refers to % of table %, whose new ids are of another shard', v_key.target, v_key.column_name, v_key.id, v_key.referred
            USING ERRCODE = 'invalid_table_definition',
                  HINT = format('Say in the changeset that creates it that this is its key: COMMENT ON COLUMN %s.%I IS ''shard key''.', (SELECT quote_ident(relname) FROM pg_class WHERE oid = v_key.referred), v_key.id);
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.refuse_misrouting(integer, regclass[]) IS
'Internal: raises an error for a table whose key refers to ids made by next_id. Error: 42P16';

REVOKE EXECUTE ON FUNCTION shardflake.refuse_misrouting(integer, regclass[]) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.refuse_misrouting(integer, regclass[]);
