--liquibase formatted sql logicalFilePath:shardflake/internal/guard_reference.sql

--changeset shardflake:guard_reference runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.guard_reference(target regclass, mode text, home text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_old text;
    v_new text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary AND i.indimmediate
                    WHERE c.oid = target AND c.relkind = 'r' AND c.relpersistence = 'p' AND c.relreplident IN ('d', 'i')) THEN
        RAISE EXCEPTION 'reference table % cannot be replicated', target
            USING ERRCODE = '42P16',
                  HINT = 'A reference table is a plain, logged table with a primary key that is not deferrable, by which replication tells its rows.';
    END IF;
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER shardflake_reference BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s
         FOR EACH STATEMENT EXECUTE FUNCTION shardflake.reference_write(%L, %L)', target, mode, home);
    -- All that a foreign key could refer to.
    SELECT string_agg(format('OLD.%I', a.attname), ', ' ORDER BY a.attnum), string_agg(format('NEW.%I', a.attname), ', ' ORDER BY a.attnum)
      INTO v_old, v_new
      FROM pg_attribute a
     WHERE a.attrelid = target AND a.attnum > 0 AND NOT a.attisdropped
       AND EXISTS (SELECT FROM pg_index i
                    WHERE i.indrelid = target AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
                      AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]));
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER shardflake_reference_key AFTER UPDATE ON %s
         FOR EACH ROW WHEN (ROW(%s) IS DISTINCT FROM ROW(%s)) EXECUTE FUNCTION shardflake.reference_write(%L, %L)',
        target, v_old, v_new, mode, home);
END
$$;

COMMENT ON FUNCTION shardflake.guard_reference(regclass, text, text) IS
'Internal: lets a reference table be written as the home does (mode home), or not here (copy), or nowhere (closed). Error: 42P16 for a table that cannot be replicated';

REVOKE EXECUTE ON FUNCTION shardflake.guard_reference(regclass, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION shardflake.unguard_reference(target regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_trigger name;
BEGIN
    FOR v_trigger IN SELECT tgname FROM pg_trigger WHERE tgrelid = target AND tgfoid = 'shardflake.reference_write'::regproc AND NOT tgisinternal LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER %I', target, v_trigger);
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardflake.unguard_reference(regclass) IS
'Internal: lets whoever changes a reference table on all servers at once write to it, in a transaction that ends with guard_reference';

REVOKE EXECUTE ON FUNCTION shardflake.unguard_reference(regclass) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.unguard_reference(regclass);
--rollback DROP FUNCTION shardflake.guard_reference(regclass, text, text);
