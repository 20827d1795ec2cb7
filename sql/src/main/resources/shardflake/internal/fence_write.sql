--liquibase formatted sql logicalFilePath:shardflake/internal/fence_write.sql

--changeset shardflake:fence_write runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.fence_write() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'shard % takes no writes on this server', right(TG_TABLE_SCHEMA, 4)::integer
        USING ERRCODE = 'SF001',
              DETAIL = format('%s on %I.%I met the fence of its shard.', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME),
              HINT = 'The shard is being moved or has moved: read the shard map again and retry on the server it names.';
END
$$;

COMMENT ON FUNCTION shardflake.fence_write() IS
'Internal: refuses a write to a fenced shard. A trigger, so that it holds for every client and at every isolation level. Error: SF001';

REVOKE EXECUTE ON FUNCTION shardflake.fence_write() FROM PUBLIC;

--rollback DROP FUNCTION shardflake.fence_write();
