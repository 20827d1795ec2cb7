--liquibase formatted sql logicalFilePath:shardflake/catalog/0006_restore_points.sql

--changeset shardflake:catalog_restore_points splitStatements:false stripComments:false
CREATE TABLE shardflake_catalog.restore_point (
    -- At most as long as a name in PostgreSQL's write-ahead log.
    name text PRIMARY KEY CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
    phase text NOT NULL DEFAULT 'begun' CHECK (phase IN ('begun', 'on all servers', 'complete')),
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    begun_by text NOT NULL DEFAULT session_user,
    map_version bigint NOT NULL,
    placements text NOT NULL
);
COMMENT ON TABLE shardflake_catalog.restore_point IS 'Points in the write-ahead logs of all servers and the catalog that are restored together';
COMMENT ON COLUMN shardflake_catalog.restore_point.phase IS 'A catalog that was restored to the point has it ''on all servers'', since its own point comes last';
COMMENT ON COLUMN shardflake_catalog.restore_point.map_version IS 'The version of the shard map at the point';
COMMENT ON COLUMN shardflake_catalog.restore_point.placements IS 'A digest of which server had which shard, with which epoch';

CREATE TABLE shardflake_catalog.restore_point_server (
    point text NOT NULL REFERENCES shardflake_catalog.restore_point (name),
    server text NOT NULL,
    identity text NOT NULL,
    lsn pg_lsn NOT NULL,
    wal_file text NOT NULL,
    made_at timestamptz NOT NULL,
    PRIMARY KEY (point, server)
);
COMMENT ON TABLE shardflake_catalog.restore_point_server IS 'Where a restore point is in the write-ahead log of each server';
COMMENT ON COLUMN shardflake_catalog.restore_point_server.server IS 'Its name in the shard map; empty for the catalog';
COMMENT ON COLUMN shardflake_catalog.restore_point_server.identity IS 'The system identifier of its database cluster; empty if the role was not allowed to ask';
COMMENT ON COLUMN shardflake_catalog.restore_point_server.lsn IS 'Where the point is; until it is complete, for what shares a server with the catalog, a place before it';
COMMENT ON COLUMN shardflake_catalog.restore_point_server.wal_file IS 'The file that has it. The first eight digits are the timeline';

--rollback DROP TABLE shardflake_catalog.restore_point_server, shardflake_catalog.restore_point;
