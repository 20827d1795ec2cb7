--liquibase formatted sql logicalFilePath:shardflake/catalog/record_servers.sql

--changeset shardflake:catalog_record_servers runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.record_server() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_version bigint;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    v_version := shardflake_catalog.record_change();
    -- Before there is a map, servers are part of its making, which is recorded as a whole.
    IF v_version IS NOT NULL THEN
        INSERT INTO shardflake_catalog.history (version, change, server, from_server, reason)
        VALUES (v_version,
                CASE TG_OP WHEN 'INSERT' THEN 'server added' WHEN 'DELETE' THEN 'server removed' ELSE 'server changed' END,
                COALESCE(NEW.name, OLD.name),
                CASE WHEN TG_OP = 'UPDATE' AND NEW.name <> OLD.name THEN OLD.name END,
                shardflake_catalog.reason());
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.record_server() IS
'Internal: records a server that was added, changed or removed as a new version of the shard map';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.record_server() FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.record_server();
