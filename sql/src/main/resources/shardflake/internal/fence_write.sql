--liquibase formatted sql logicalFilePath:shardflake/internal/fence_write.sql

--changeset shardflake:fence_write runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.fence_write() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * Whether the shard is fenced is told by the trigger's argument, not by its being enabled: ENABLE TRIGGER USER, as after a
 * restore, raises no fence. The argument comes with the table's definition and under the table's lock, so no snapshot is too old
 * to see it. A trigger without one is of an earlier library, whose fences were up when they were enabled.
 */
BEGIN
    IF TG_ARGV[0] = 'down' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'shard % takes no writes on this server', right(TG_TABLE_SCHEMA, 4)::integer
        USING ERRCODE = 'SF001',
              DETAIL = format('%s on %I.%I met the fence of its shard.', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME),
              HINT = 'The shard is being moved or has moved: read the shard map again and retry on the server it names.';
END
$$;

COMMENT ON FUNCTION shardflake.fence_write() IS
'Internal: refuses a write to a fenced shard, and lets it pass if the argument says that the fence is down. A trigger, so that it holds for every client and at every isolation level. Error: SF001';

REVOKE EXECUTE ON FUNCTION shardflake.fence_write() FROM PUBLIC;

--rollback DROP FUNCTION shardflake.fence_write();
