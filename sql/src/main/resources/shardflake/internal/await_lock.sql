--liquibase formatted sql logicalFilePath:shardflake/internal/await_lock.sql

--changeset shardflake:await_lock runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.await_lock(sequence regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * Advisory locks are anybody's to take, and this one is held for microseconds, or while a fence goes up. So the wait has an end.
 */
DECLARE
    v_timeout text := current_setting('lock_timeout');
BEGIN
    IF v_timeout::interval NOT BETWEEN '1 ms' AND '1 s' THEN -- 0 is for ever
        PERFORM set_config('lock_timeout', '1s', true);
    END IF;
    PERFORM pg_advisory_xact_lock(shardflake.lock_key(sequence));
    PERFORM set_config('lock_timeout', v_timeout, true);
END
$$;

COMMENT ON FUNCTION shardflake.await_lock(regclass) IS
'Internal: takes the lock for whoever moves a sequence, until the transaction ends. Error: 55P03 after lock_timeout, which is taken to be 1 s at most';

REVOKE EXECUTE ON FUNCTION shardflake.await_lock(regclass) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.await_lock(regclass);

--changeset shardflake:refuse_wait runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.refuse_wait(sequence regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_holders text;
BEGIN
    SELECT string_agg(format('%s of %s', l.pid, a.usename), ', ' ORDER BY l.pid) INTO v_holders
      FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND (l.classid::bigint << 32 | l.objid::bigint) = shardflake.lock_key(sequence);
    RAISE EXCEPTION 'waited too long for the lock of sequence %', sequence
        USING ERRCODE = 'lock_not_available',
              DETAIL = format('Held by process %s.', COALESCE(v_holders, 'no process now')),
              HINT = 'Shardflake holds it for microseconds, or while it fences a shard. If this keeps happening, end that process with pg_terminate_backend.';
END
$$;

COMMENT ON FUNCTION shardflake.refuse_wait(regclass) IS
'Internal: raises the reason why the lock of a sequence was not to be had, with its holder. Error: 55P03';

REVOKE EXECUTE ON FUNCTION shardflake.refuse_wait(regclass) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.refuse_wait(regclass);
