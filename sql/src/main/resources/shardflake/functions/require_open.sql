--liquibase formatted sql logicalFilePath:shardflake/functions/require_open.sql

--changeset shardflake:refuse_work runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
DO $$
BEGIN -- as they were in earlier snapshots
    IF EXISTS (SELECT FROM pg_proc WHERE oid = to_regprocedure('shardflake.refuse_work(regclass)') AND prorettype = 'boolean'::regtype) THEN
        DROP FUNCTION IF EXISTS shardflake.require_open(regclass);
        DROP FUNCTION shardflake.refuse_work(regclass);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION shardflake.refuse_work(sequence regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_schema name := (
        SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.oid = sequence AND c.relkind = 'S' AND c.relname = 'id_seq');
BEGIN
    IF v_schema !~ '^shard_[0-9]{4}$' IS NOT FALSE THEN
        RAISE EXCEPTION '% is not the sequence id_seq of a shard', COALESCE(sequence::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Give the sequence that shardflake.create_shard made, shard_0007.id_seq for instance.';
    END IF;
    IF pg_sequence_last_value(sequence) < 0 THEN -- see stop_ids
        RAISE EXCEPTION 'shard % is fenced on this server', right(v_schema, 4)::integer
            USING ERRCODE = 'SF001',
                  HINT = 'The shard is being moved or has moved: read the shard map again and retry on the server it names.';
    END IF;
    RETURN pg_sequence_last_value('shardflake.last_fence');
END
$$;

COMMENT ON FUNCTION shardflake.refuse_work(regclass) IS
'Internal: raises SF001 if a shard is fenced, also for a role that may not look at the sequence, and tells nothing else of it; returns what require_open does';

--rollback DROP FUNCTION shardflake.refuse_work(regclass);

--changeset shardflake:require_open runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.require_open(sequence regclass) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    -- Inlined, and no look at a table: routers ask with commits. The fence of a shard stops its sequences, and a position is seen
    -- at once, whatever the snapshot. Each WHEN is done when the next one is looked at, which AND does not promise.
    RETURN CASE
        WHEN NOT pg_catalog.has_sequence_privilege(sequence::oid, 'USAGE'::text) THEN shardflake.refuse_work(sequence)
        WHEN NOT pg_catalog.has_sequence_privilege('shardflake.last_fence'::regclass::oid, 'SELECT'::text) THEN shardflake.refuse_work(sequence)
        WHEN pg_catalog.pg_sequence_last_value(sequence) OPERATOR(pg_catalog.<) 0::bigint THEN shardflake.refuse_work(sequence)
        ELSE pg_catalog.pg_sequence_last_value('shardflake.last_fence'::regclass)
    END;

COMMENT ON FUNCTION shardflake.require_open(regclass) IS
'Raises an error unless the shard of a sequence id_seq (shard_0007.id_seq) is open on this server, for transactions that only read or lock: writes meet the fence by themselves. Returns the number of the latest fence here, of any shard: while that stays, an open shard is open. Errors: SF001 when the shard is fenced here, 3F000 or 42P01 when it is not here';

--rollback DROP FUNCTION shardflake.require_open(regclass);
