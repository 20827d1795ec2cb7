--liquibase formatted sql logicalFilePath:shardflake/catalog/grant_read.sql

--changeset shardflake:catalog_grant_read runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.grant_read(role name) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA shardflake_catalog TO %I', role);
    EXECUTE format(
        'GRANT SELECT ON shardflake_catalog.installation, shardflake_catalog.server, shardflake_catalog.shard, shardflake_catalog.history,
                         shardflake_catalog.move, shardflake_catalog.move_shard, shardflake_catalog.reference,
                         shardflake_catalog.reference_delete, shardflake_catalog.lookup, shardflake_catalog.lookup_backfill,
                         shardflake_catalog.gateway, shardflake_catalog.split, shardflake_catalog.adoption TO %I',
        role);
END
$$;

COMMENT ON FUNCTION shardflake_catalog.grant_read(name) IS
'Lets a role read the shard map and its history, which is all that a router needs. Error: 42704 when there is no such role';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.grant_read(name) FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.grant_read(name);
