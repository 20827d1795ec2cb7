--liquibase formatted sql logicalFilePath:shardflake/internal/adds_checks.sql

--changeset shardflake:adds_checks runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.adds_checks() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT COALESCE(NULLIF(current_setting('shardflake.checks', true), ''), 'on')::boolean
$$;

COMMENT ON FUNCTION shardflake.adds_checks() IS
'Internal: whether new tables get checks, as they do unless the session has set shardflake.checks to off';

--rollback DROP FUNCTION shardflake.adds_checks();
