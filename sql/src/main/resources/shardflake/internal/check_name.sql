--liquibase formatted sql logicalFilePath:shardflake/internal/check_name.sql

--changeset shardflake:check_name runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.check_name(column_name name) RETURNS name
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    -- PostgreSQL would cut a name of more than 63 bytes, and take one column's check for another's.
    RETURN CASE WHEN octet_length(column_name::text) <= 54 THEN column_name::text || '_of_shard'::text
                ELSE left(column_name::text, 5) || '_'::text || md5(column_name::text) || '_of_shard'::text END::name;

COMMENT ON FUNCTION shardflake.check_name(name) IS 'Internal: the name of the check that holds a column to its shard';

--rollback DROP FUNCTION shardflake.check_name(name);
