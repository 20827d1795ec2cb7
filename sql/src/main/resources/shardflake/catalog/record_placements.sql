--liquibase formatted sql logicalFilePath:shardflake/catalog/record_placements.sql

--changeset shardflake:catalog_record_placements runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.record_placements() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_version bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM new_shard n JOIN old_shard o USING (shard) WHERE n.server <> o.server) THEN
        RETURN NULL;
    END IF;
    v_version := shardflake_catalog.record_change();
    INSERT INTO shardflake_catalog.history (version, change, shard, server, from_server, epoch, reason)
    SELECT v_version, 'shard placed', n.shard, n.server, o.server, n.epoch, shardflake_catalog.reason()
      FROM new_shard n JOIN old_shard o USING (shard)
     WHERE n.server <> o.server
     ORDER BY n.shard;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.record_placements() IS
'Internal: records shards whose server changed as a new version of the shard map';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.record_placements() FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.record_placements();
