--liquibase formatted sql logicalFilePath:shardflake/internal/record_placement.sql

--changeset shardflake:record_placement runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.record_placement(shard integer, epoch bigint, here boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * Readers of the change stream get changes by this: so a cutover's transactions tell them, and the copy of a moving shard
 * does not, wherever a shard is opened or closed. The message comes with the changes, so a reader that reads them again
 * reads it again. A copy that has never been open, of epoch 0, has sent nothing.
 *
 * An attempt at a cutover may be given up after the shard has left: then it arrives where it was, with the epoch it had.
 * Which departure an arrival follows is told by what a cutover sets in both transactions, shardflake.handover.
 */
BEGIN
    INSERT INTO shardflake.placement (shard, epoch, here) VALUES (record_placement.shard, record_placement.epoch, record_placement.here)
        ON CONFLICT ON CONSTRAINT placement_pkey DO UPDATE SET epoch = excluded.epoch, here = excluded.here, recorded_at = clock_timestamp();
    PERFORM shardflake.publish_shard(shard);
    IF epoch > 0 AND EXISTS (SELECT FROM pg_publication WHERE pubname = 'shardflake_cdc') THEN
        PERFORM pg_logical_emit_message(true, 'shardflake', json_build_object(
            'shard', shard, 'epoch', epoch, 'event', CASE WHEN here THEN 'arrive' ELSE 'leave' END,
            'handover', NULLIF(current_setting('shardflake.handover', true), ''))::text);
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.record_placement(integer, bigint, boolean) IS
'Internal: keeps with which epoch of the shard map this server got a shard, or gave it up, and has the change stream follow. Part of the transaction that opens or closes it';

REVOKE EXECUTE ON FUNCTION shardflake.record_placement(integer, bigint, boolean) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.record_placement(integer, bigint, boolean);
