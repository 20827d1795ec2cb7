--liquibase formatted sql logicalFilePath:shardflake/internal/check_shard.sql

--changeset shardflake:check_shard runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.check_shard(shard integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF shardflake.is_shard(shard) IS NOT TRUE THEN
        RAISE EXCEPTION 'shard % is out of range 0..8191', COALESCE(shard::pg_catalog.text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'A shard is uid modulo the shard count, which is 8192 at most.';
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.check_shard(integer) IS 'Raises invalid_parameter_value for a shard outside 0..8191';

--rollback DROP FUNCTION shardflake.check_shard(integer);
