--liquibase formatted sql logicalFilePath:shardflake/catalog/check_shards.sql

--changeset shardflake:catalog_check_shards runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.check_shards() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * Shards are placed all at once, by one INSERT after that of the installation, and never come or go later.
 */
DECLARE
    v_shard_count integer;
    v_version bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM new_shard) THEN
        RETURN NULL;
    END IF;
    SELECT shard_count, version INTO v_shard_count, v_version FROM shardflake_catalog.installation;
    IF v_shard_count IS DISTINCT FROM (SELECT count(*) FROM shardflake_catalog.shard)
        OR v_shard_count IS DISTINCT FROM (SELECT max(shard) + 1 FROM shardflake_catalog.shard)
    THEN
        RAISE EXCEPTION 'the shards would not be exactly 0..%', COALESCE((v_shard_count - 1)::text, 'shard_count - 1')
            USING ERRCODE = 'SF010',
                  HINT = 'The number of shards is fixed. Insert the installation first, then all of its shards in one statement; to move a shard, update its server.';
    END IF;
    INSERT INTO shardflake_catalog.history (version, change, reason)
        VALUES (v_version, 'initialized', shardflake_catalog.reason());
    PERFORM pg_notify('shardflake_map', v_version::text);
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.check_shards() IS
'Internal: refuses shards other than 0..shard_count-1, and records the initial placement. Error: SF010';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.check_shards() FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.check_shards();
