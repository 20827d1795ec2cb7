--liquibase formatted sql logicalFilePath:shardflake/catalog/check_installation.sql

--changeset shardflake:catalog_keep_installation runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.keep_installation() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- The id changes when a clone is separated from its original, or a new catalog takes the place of a lost one.
    IF NEW.shard_count <> OLD.shard_count OR NEW.epoch_ms <> OLD.epoch_ms
        OR NEW.id <> OLD.id AND current_setting('shardflake.new_identity', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'shard_count, epoch_ms and id of an installation never change'
            USING ERRCODE = 'SF010',
                  DETAIL = format('They are %s and %s; the update says %s and %s.',
                                  OLD.shard_count, OLD.epoch_ms, NEW.shard_count, NEW.epoch_ms),
                  HINT = 'Every row is where uid mod shard_count says, and every id counts its time from epoch_ms.';
    END IF;
    IF NEW.version <= OLD.version THEN
        RAISE EXCEPTION 'version % is not above the present one, %', NEW.version, OLD.version
            USING ERRCODE = 'SF010',
                  HINT = 'Leave the version alone: it goes up with every change of a server or a placement.';
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.keep_installation() IS
'Internal: refuses another shard count or epoch, and a version that does not grow. Error: SF010';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.keep_installation() FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.keep_installation();

--changeset shardflake:catalog_check_initialized runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.check_initialized() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM shardflake_catalog.shard) THEN
        RAISE EXCEPTION 'the installation has no shards'
            USING ERRCODE = 'SF010',
                  HINT = format('Insert servers, the installation, and then shards 0..%s, in one transaction.', NEW.shard_count - 1);
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.check_initialized() IS
'Internal: at commit, refuses an installation whose shards were not placed. Error: SF010';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.check_initialized() FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.check_initialized();
