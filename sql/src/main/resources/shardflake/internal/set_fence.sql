--liquibase formatted sql logicalFilePath:shardflake/internal/set_fence.sql

--changeset shardflake:set_fence runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.set_fence(table_name regclass, fenced boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * To replace a trigger takes the lock that enabling takes, and enables it: for all but logical replication. While the fence is down
 * the trigger is disabled too, and costs nothing.
 */
BEGIN
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER shardflake_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s
         FOR EACH STATEMENT EXECUTE FUNCTION shardflake.fence_write(%L)', table_name, CASE WHEN fenced THEN 'up' ELSE 'down' END);
    IF NOT fenced THEN
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER shardflake_fence', table_name);
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.set_fence(regclass, boolean) IS
'Internal: puts the fence of a table up or down, and makes it where there is none';

REVOKE EXECUTE ON FUNCTION shardflake.set_fence(regclass, boolean) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.set_fence(regclass, boolean);
