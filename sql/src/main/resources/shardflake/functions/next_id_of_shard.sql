--liquibase formatted sql logicalFilePath:shardflake/functions/next_id_of_shard.sql

--changeset shardflake:next_id_of_shard runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.next_id(shard integer) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    v_sequence pg_catalog.regclass;
BEGIN
    PERFORM shardflake.check_shard(shard);
    v_sequence := pg_catalog.to_regclass(pg_catalog.concat(shardflake.shard_schema(shard), '.id_seq'));
    IF v_sequence IS NULL THEN
        RAISE EXCEPTION 'shard % is not on this server', shard
            USING ERRCODE = 'invalid_schema_name',
                  HINT = pg_catalog.format('Ask the server that holds it, or create it here: SELECT shardflake.create_shard(%s).', shard);
    END IF;
    RETURN shardflake.draw_id(shard, v_sequence);
END
$$;

COMMENT ON FUNCTION shardflake.next_id(integer) IS
'A new id from the shard''s own sequence id_seq. Errors: as next_id(shard, sequence), and 3F000 when this server does not hold the shard';

--rollback DROP FUNCTION shardflake.next_id(integer);
