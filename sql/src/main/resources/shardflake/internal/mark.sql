--liquibase formatted sql logicalFilePath:shardflake/internal/mark.sql

--changeset shardflake:mark runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.mark(stream text) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    -- Microseconds, so that a publisher which lost its latest marks in a failover does not give them out again.
    INSERT INTO shardflake.move_marker AS m (stream, mark, marked_at)
        VALUES (stream, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, clock_timestamp())
        ON CONFLICT (stream) DO UPDATE SET mark = GREATEST(m.mark + 1, excluded.mark), marked_at = clock_timestamp()
        RETURNING mark
$$;

COMMENT ON FUNCTION shardflake.mark(text) IS
'Internal: increases the mark of a replication stream and returns it';

REVOKE EXECUTE ON FUNCTION shardflake.mark(text) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.mark(text);
