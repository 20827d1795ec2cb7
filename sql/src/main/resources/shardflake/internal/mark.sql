--liquibase formatted sql logicalFilePath:shardflake/internal/mark.sql

--changeset shardflake:mark runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.mark(stream text) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO shardflake.move_marker AS m (stream, mark, marked_at) VALUES (stream, 1, clock_timestamp())
        ON CONFLICT (stream) DO UPDATE SET mark = m.mark + 1, marked_at = clock_timestamp()
        RETURNING mark
$$;

COMMENT ON FUNCTION shardflake.mark(text) IS
'Internal: increases the mark of a replication stream and returns it';

REVOKE EXECUTE ON FUNCTION shardflake.mark(text) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.mark(text);
