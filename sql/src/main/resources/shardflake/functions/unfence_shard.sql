--liquibase formatted sql logicalFilePath:shardflake/functions/unfence_shard.sql

--changeset shardflake:unfence_shard runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.unfence_shard(shard integer) RETURNS integer
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tables integer := shardflake.fence_tables(shard, false);
BEGIN
    -- After what may fail, since it is not undone by a rollback.
    PERFORM shardflake.fence_ids(shard, false);
    RETURN v_tables;
END
$$;

COMMENT ON FUNCTION shardflake.unfence_shard(integer) IS
'Makes this server take writes to a shard (0..8191) again, and returns how many tables it has. Errors: 3F000 when the shard is not here, 55000 for a table without a fence';

REVOKE EXECUTE ON FUNCTION shardflake.unfence_shard(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.unfence_shard(integer);
