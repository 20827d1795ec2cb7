--liquibase formatted sql logicalFilePath:shardflake/functions/fence_shard.sql

--changeset shardflake:fence_shard runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.fence_shard(shard integer) RETURNS integer
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tables integer := shardflake.fence_tables(shard, true);
BEGIN
    -- After what may fail, since it is not undone by a rollback.
    PERFORM shardflake.fence_ids(shard, true);
    PERFORM pg_sleep(0.002); -- until no router takes it to be open: see fence_ids
    RETURN v_tables;
END
$$;

COMMENT ON FUNCTION shardflake.fence_shard(integer) IS
'Makes this server refuse writes to a shard (0..8191), from everybody but logical replication, and give no more ids for it; returns how many tables it has. Waits for transactions that have written to them or drawn ids, so set lock_timeout. Errors: 3F000 when the shard is not here, 55000 for a table without a fence; who writes then gets SF001. A rollback does not let the ids go on: unfence_shard does';

REVOKE EXECUTE ON FUNCTION shardflake.fence_shard(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.fence_shard(integer);
