--liquibase formatted sql logicalFilePath:shardflake/catalog/keep_placement.sql

--changeset shardflake:catalog_keep_placement runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake_catalog.keep_placement() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_epoch bigint := OLD.epoch + (NEW.server <> OLD.server)::integer;
BEGIN
    IF NEW.shard <> OLD.shard THEN
        RAISE EXCEPTION 'shard % cannot become shard %', OLD.shard, NEW.shard
            USING ERRCODE = 'SF010', HINT = 'Its number is in the ids of its rows. To move it, update its server.';
    END IF;
    -- More than by one when a catalog that was restored catches up with what servers know.
    IF NEW.epoch NOT IN (OLD.epoch, v_epoch) AND (NEW.epoch < v_epoch OR current_setting('shardflake.catch_up', true) IS DISTINCT FROM 'on') THEN
        RAISE EXCEPTION 'epoch % of shard % cannot become %', OLD.epoch, OLD.shard, NEW.epoch
            USING ERRCODE = 'SF010', HINT = 'Leave the epoch alone: it goes up by one when the server changes.';
    END IF;
    IF NEW.server <> OLD.server AND EXISTS (
        SELECT FROM shardflake_catalog.move_shard m
         WHERE m.shard = OLD.shard AND m.move::text IS DISTINCT FROM current_setting('shardflake.move', true))
    THEN
        RAISE EXCEPTION 'shard % is being moved, and only its move may change its placement', OLD.shard
            USING ERRCODE = 'SF010',
                  HINT = format('Wait for move %s to end, or cancel it: shardflake move status.',
                                (SELECT m.move FROM shardflake_catalog.move_shard m WHERE m.shard = OLD.shard));
    END IF;
    NEW.epoch := GREATEST(NEW.epoch, v_epoch);
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.keep_placement() IS
'Internal: increases the epoch of a shard whose server changes, and refuses other changes of number and epoch, and changes of a shard that is being moved by others than its move. Error: SF010';

REVOKE EXECUTE ON FUNCTION shardflake_catalog.keep_placement() FROM PUBLIC;

--rollback DROP FUNCTION shardflake_catalog.keep_placement();
