--liquibase formatted sql logicalFilePath:shardflake/functions/library_version.sql

--changeset shardflake:library_version runOnChange:true splitStatements:false stripComments:false
CREATE OR REPLACE FUNCTION shardflake.library_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ${shardflake.library.version};

COMMENT ON FUNCTION shardflake.library_version() IS 'The version of the function library, which goes up whenever one of its functions changes: no older program replaces it';

--rollback DROP FUNCTION shardflake.library_version();
