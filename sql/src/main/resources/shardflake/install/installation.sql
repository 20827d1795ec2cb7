--liquibase formatted sql logicalFilePath:shardflake/install/installation.sql

--changeset shardflake:installation_table splitStatements:false stripComments:false
--preconditions onFail:MARK_RAN
--precondition-sql-check expectedResult:0 SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'installation' AND relnamespace = 'shardflake'::regnamespace
CREATE TABLE shardflake.installation (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id uuid NOT NULL,
    shard_count integer NOT NULL CHECK (shard_count BETWEEN 1 AND 8192),
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE shardflake.installation IS 'Which installation this server belongs to, so that no other takes it for its own. Empty until a command of its catalog has recorded it';
COMMENT ON COLUMN shardflake.installation.id IS 'The id that the installation''s catalog has';
COMMENT ON COLUMN shardflake.installation.shard_count IS 'How many shards the installation has, on all of its servers';

REVOKE ALL ON TABLE shardflake.installation FROM PUBLIC;
GRANT SELECT ON TABLE shardflake.installation TO PUBLIC;

--rollback DROP TABLE shardflake.installation;
