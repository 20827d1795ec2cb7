--liquibase formatted sql logicalFilePath:shardflake/catalog/catalog_version.sql

--changeset shardflake:catalog_version runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.catalog_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ${shardflake.catalog.version};

COMMENT ON FUNCTION shardflake_catalog.catalog_version() IS 'The version of the catalog''s schema, which goes up whenever it changes: no older program replaces it. The shard map has a version of its own';

--rollback DROP FUNCTION shardflake_catalog.catalog_version();
