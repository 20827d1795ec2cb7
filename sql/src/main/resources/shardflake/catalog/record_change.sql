--liquibase formatted sql logicalFilePath:shardflake/catalog/record_change.sql

--changeset shardflake:catalog_record_change runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.record_change() RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * The update locks the one row until the transaction ends, so versions are in the order of commits. A
 * transaction that has made a version already, and so its row, makes no other.
 */
DECLARE
    v_version bigint;
BEGIN
    UPDATE shardflake_catalog.installation SET version = version + 1, changed_at = clock_timestamp()
        WHERE xmin <> pg_current_xact_id()::xid
        RETURNING version INTO v_version;
    IF v_version IS NULL THEN
        RETURN (SELECT version FROM shardflake_catalog.installation);
    END IF;
    PERFORM pg_notify('shardflake_map', v_version::text);
    RETURN v_version;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.record_change() IS
'Internal: increases the version of the shard map, once a transaction, tells the routers by NOTIFY shardflake_map, and returns the version; null before there is a map';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.record_change() FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.record_change();

--changeset shardflake:catalog_reason runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.reason() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE(NULLIF(current_setting('shardflake.reason', true), ''), 'not given')
        || COALESCE(', ' || NULLIF(current_setting('shardflake.origin', true), ''), '');

COMMENT ON FUNCTION shardflake_catalog.reason() IS
'Why the shard map is being changed: the setting shardflake.reason, and from where, shardflake.origin. Give it with SET LOCAL shardflake.reason = ''...''';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.reason() FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.reason();
