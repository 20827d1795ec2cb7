--liquibase formatted sql logicalFilePath:shardflake/install/placement.sql

--changeset shardflake:placement_table splitStatements:false stripComments:false
--preconditions onFail:MARK_RAN
--precondition-sql-check expectedResult:0 SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'placement' AND relnamespace = 'shardflake'::regnamespace
CREATE TABLE shardflake.placement (
    shard integer PRIMARY KEY,
    epoch bigint NOT NULL,
    here boolean NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE shardflake.placement IS 'What this server knows of the shard map, written in the transactions that open and close a shard: restored with its rows, it tells whether the server is older than the catalog or newer. A shard that no move brought or took has no line';
COMMENT ON COLUMN shardflake.placement.epoch IS 'The shard''s epoch in the shard map with which it was opened here, or given up; 0 for a copy that has never been open';
COMMENT ON COLUMN shardflake.placement.here IS 'Whether it was opened here; if not, it was closed, so that another server could get it with this epoch';

--rollback DROP TABLE shardflake.placement;
