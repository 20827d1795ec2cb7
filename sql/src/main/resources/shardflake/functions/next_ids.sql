--liquibase formatted sql logicalFilePath:shardflake/functions/next_ids.sql

--changeset shardflake:next_ids runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.next_ids(shard integer, sequence regclass, count integer) RETURNS SETOF bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
BEGIN
    IF count IS NULL OR count OPERATOR(pg_catalog.<) 1 OR count OPERATOR(pg_catalog.>) 100000 THEN
        RAISE EXCEPTION 'count % is out of range 1..100000', COALESCE(count::pg_catalog.text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Call next_ids more than once for more ids.';
    END IF;
    PERFORM shardflake.check_shard(shard);
    FOR v_drawn IN 1..count LOOP
        RETURN NEXT shardflake.draw_id(shard, sequence);
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardflake.next_ids(integer, regclass, integer) IS
'Many new ids, in increasing order; count is 1..100000. Each has the time at which it was drawn. Errors: as next_id, and 22023 for a count out of range';

--rollback DROP FUNCTION shardflake.next_ids(integer, regclass, integer);
