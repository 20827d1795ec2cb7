--liquibase formatted sql logicalFilePath:shardflake/internal/create_id_sequence.sql

--changeset shardflake:create_id_sequence runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.create_id_sequence(schema_name text, sequence_name text) RETURNS regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * MAXVALUE is 2^50 - 1 (milliseconds 2^40 - 1, count 1023), so that nextval itself refuses an id that would
 * reach the sign bit. Below 0 is where stop_ids puts a sequence. CACHE 1, or a session would keep ticks of a past time.
 */
DECLARE
    v_sequence regclass;
    v_owner name := ( -- not by ::regprocedure, which needs USAGE on the schema
        SELECT pg_get_userbyid(p.proowner) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE p.proname = 'advance_sequence' AND n.nspname = 'shardflake_internal');
BEGIN
    EXECUTE format('CREATE SEQUENCE %I.%I AS bigint MINVALUE -1125899906842624 MAXVALUE 1125899906842623 START 0 CACHE 1 NO CYCLE', schema_name, sequence_name);
    v_sequence := format('%I.%I', schema_name, sequence_name)::regclass;
    IF v_owner <> current_user THEN -- advance_sequence works as its owner
        EXECUTE format('GRANT USAGE, UPDATE ON SEQUENCE %s TO %I', v_sequence, v_owner);
    END IF;
    RETURN v_sequence;
END
$$;

COMMENT ON FUNCTION shardflake.create_id_sequence(text, text) IS 'Internal: a sequence that holds ticks';

REVOKE EXECUTE ON FUNCTION shardflake.create_id_sequence(text, text) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.create_id_sequence(text, text);
