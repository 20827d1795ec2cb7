--liquibase formatted sql logicalFilePath:shardflake/install/internal.sql

--changeset shardflake:internal_schema splitStatements:false stripComments:false
CREATE SCHEMA IF NOT EXISTS shardflake_internal;

COMMENT ON SCHEMA shardflake_internal IS 'Shardflake: what only its own functions call. No role is to have USAGE on it';

REVOKE ALL ON SCHEMA shardflake_internal FROM PUBLIC;

--rollback DROP SCHEMA shardflake_internal;
