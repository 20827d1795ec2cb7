--liquibase formatted sql logicalFilePath:shardflake/install/schema.sql

--changeset shardflake:schema splitStatements:false stripComments:false
CREATE SCHEMA IF NOT EXISTS shardflake;

COMMENT ON SCHEMA shardflake IS 'Shardflake: ids that say when they were made and in which shard';

--rollback empty
