--liquibase formatted sql logicalFilePath:shardflake/install/uid_column.sql

--changeset shardflake:uid_column splitStatements:false stripComments:false
--preconditions onFail:MARK_RAN
--precondition-sql-check expectedResult:0 SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'uid_column' AND relnamespace = 'shardflake'::regnamespace
CREATE TABLE shardflake.uid_column (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    column_name name NOT NULL,
    shard_count integer NOT NULL CHECK (shard_count BETWEEN 1 AND 8192)
);
COMMENT ON TABLE shardflake.uid_column IS 'The column of the application''s tables that holds the uid, if it was named: new tables that have it get a check that their rows belong to their shard';
COMMENT ON COLUMN shardflake.uid_column.shard_count IS 'How many shards the installation has: a uid belongs to shard uid mod shard_count';

--rollback DROP TABLE shardflake.uid_column;

--changeset shardflake:uid_column_may_be_unknown splitStatements:false stripComments:false
-- The number of shards is needed for tables that say their key themselves, too.
ALTER TABLE shardflake.uid_column ALTER COLUMN column_name DROP NOT NULL;
COMMENT ON TABLE shardflake.uid_column IS 'How many shards the installation has, and the column of the application''s tables that holds the uid, if it was named: tables that have it and say no other key are keyed by it';

--rollback DELETE FROM shardflake.uid_column WHERE column_name IS NULL;
--rollback ALTER TABLE shardflake.uid_column ALTER COLUMN column_name SET NOT NULL;
