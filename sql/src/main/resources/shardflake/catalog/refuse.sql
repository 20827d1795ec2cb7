--liquibase formatted sql logicalFilePath:shardflake/catalog/refuse.sql

--changeset shardflake:catalog_refuse runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.refuse() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '% on %.% is refused: the catalog maintains it', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'SF010',
              HINT = 'Place shards by UPDATE of shardflake_catalog.shard; the rest is recorded automatically.';
END
$$;

COMMENT ON FUNCTION shardflake_catalog.refuse() IS 'Internal: refuses what would take the catalog apart. Error: SF010';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.refuse() FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.refuse();
