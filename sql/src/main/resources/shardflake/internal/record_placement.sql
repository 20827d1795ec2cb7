--liquibase formatted sql logicalFilePath:shardflake/internal/record_placement.sql

--changeset shardflake:record_placement runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.record_placement(shard integer, epoch bigint, here boolean) RETURNS void
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO shardflake.placement (shard, epoch, here) VALUES (record_placement.shard, record_placement.epoch, record_placement.here)
        ON CONFLICT (shard) DO UPDATE SET epoch = excluded.epoch, here = excluded.here, recorded_at = clock_timestamp()
$$;

COMMENT ON FUNCTION shardflake.record_placement(integer, bigint, boolean) IS
'Internal: keeps with which epoch of the shard map this server got a shard, or gave it up. Part of the transaction that opens or closes it';

REVOKE EXECUTE ON FUNCTION shardflake.record_placement(integer, bigint, boolean) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.record_placement(integer, bigint, boolean);
