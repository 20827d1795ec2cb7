--liquibase formatted sql logicalFilePath:shardflake/internal/reference_write.sql

--changeset shardflake:reference_write runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.next_reference_version() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    -- Microseconds, so that a home which lost its latest versions in a failover does not give them out again.
    UPDATE shardflake.reference_version
       SET version = GREATEST(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), written_at = clock_timestamp()
 RETURNING version
$$;

COMMENT ON FUNCTION shardflake.next_reference_version() IS
'Internal: increases the version of the reference tables, and keeps other writers waiting until the transaction ends';

REVOKE EXECUTE ON FUNCTION shardflake.next_reference_version() FROM PUBLIC;

CREATE OR REPLACE FUNCTION shardflake.reference_write() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * What the server may do is in the trigger's arguments, which come under the table's lock: see fence_write.
 *
 * The home increases the version before it locks a row, so writers come one after the other, never in a deadlock, and versions are
 * committed in their order. Whoever has a version has all rows of those before.
 *
 * Foreign keys of shards on other servers are not checked here, and not there either: what replication applies fires no trigger. So
 * nothing they could refer to may go or change here; shardflake reference delete does that on all servers at once.
 */
BEGIN
    IF TG_ARGV[0] = 'home' THEN
        IF TG_LEVEL = 'STATEMENT' AND TG_OP IN ('INSERT', 'UPDATE') THEN
            PERFORM shardflake.next_reference_version();
            RETURN NULL;
        END IF;
        IF TG_OP = 'UPDATE' THEN
            RAISE EXCEPTION 'a row of reference table %.% keeps its key', quote_ident(TG_TABLE_SCHEMA), quote_ident(TG_TABLE_NAME)
                USING ERRCODE = 'SF013',
                      DETAIL = 'Rows of shards on other servers may refer to any column that is unique.',
                      HINT = 'Insert a row with the new key, let the shards'' rows refer to it, and delete the old one with shardflake reference delete.';
        END IF;
        RAISE EXCEPTION '% of reference table %.% is refused', TG_OP, quote_ident(TG_TABLE_SCHEMA), quote_ident(TG_TABLE_NAME)
            USING ERRCODE = 'SF013',
                  DETAIL = 'Rows of shards on other servers may refer to its rows.',
                  HINT = format('Delete a row on all servers at once: shardflake reference delete %s KEY', TG_TABLE_NAME);
    END IF;
    IF TG_ARGV[0] = 'closed' THEN
        RAISE EXCEPTION 'reference table %.% cannot be written at the moment', quote_ident(TG_TABLE_SCHEMA), quote_ident(TG_TABLE_NAME)
            USING ERRCODE = 'SF012',
                  DETAIL = format('Its home, %s, is being changed, or it has just been deployed.', TG_ARGV[1]),
                  HINT = 'Retry. If it lasts, a command was interrupted: shardflake reference status says which to run again.';
    END IF;
    RAISE EXCEPTION 'reference table %.% is written on server %', quote_ident(TG_TABLE_SCHEMA), quote_ident(TG_TABLE_NAME), TG_ARGV[1]
        USING ERRCODE = 'SF012',
              DETAIL = 'This server has a copy, which replication keeps.',
              HINT = CASE WHEN pg_trigger_depth() > 1
                          THEN format('A trigger has written here. Its table may be on any server, so take the write out of the trigger''s function, and write on %s, as router.reference().write(...) does.', TG_ARGV[1])
                          ELSE format('Write on %s, as router.reference().write(...) does.', TG_ARGV[1]) END;
END
$$;

COMMENT ON FUNCTION shardflake.reference_write() IS
'Internal: lets the home of reference tables insert and update, and refuses what it must not do, and every write to a copy. Errors: SF012 on another server, SF013 for DELETE, TRUNCATE and a change of a key';

REVOKE EXECUTE ON FUNCTION shardflake.reference_write() FROM PUBLIC;

--rollback DROP FUNCTION shardflake.reference_write();
--rollback DROP FUNCTION shardflake.next_reference_version();
