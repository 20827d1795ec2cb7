--liquibase formatted sql logicalFilePath:shardflake/catalog/0001_tables.sql

--changeset shardflake:catalog_tables splitStatements:false stripComments:false
CREATE SCHEMA IF NOT EXISTS shardflake_catalog;
COMMENT ON SCHEMA shardflake_catalog IS 'Shardflake: which server has which shard';

CREATE TABLE shardflake_catalog.installation (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    shard_count integer NOT NULL CHECK (shard_count BETWEEN 1 AND 8192),
    epoch_ms bigint NOT NULL CHECK (epoch_ms BETWEEN 0 AND 8639999999999),
    version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE shardflake_catalog.installation IS 'What is chosen once, and the version of the shard map. Every change of the map updates this row, so changes come one after the other';
COMMENT ON COLUMN shardflake_catalog.installation.shard_count IS 'How many logical shards there are: 1..8192. Never changes: a uid lives in shard uid mod shard_count';
COMMENT ON COLUMN shardflake_catalog.installation.epoch_ms IS 'Where the time of an id begins: UTC milliseconds since 1970-01-01. Never changes';
COMMENT ON COLUMN shardflake_catalog.installation.version IS 'Grows with every change of a server or a placement';

CREATE TABLE shardflake_catalog.server (
    name text PRIMARY KEY CHECK (name ~ '^[a-z0-9]([a-z0-9_.-]{0,61}[a-z0-9])?$'),
    url text NOT NULL CHECK (url ~ '^postgresql://'),
    labels jsonb NOT NULL DEFAULT '{}' CHECK (
        jsonb_typeof(labels) = 'object' AND NOT jsonb_path_exists(labels, '$.* ? (@.type() != "string")')),
    -- Deferrable, so that two servers can swap their URLs.
    CONSTRAINT server_url_key UNIQUE (url) DEFERRABLE,
    CONSTRAINT url_holds_no_password CHECK (
        url !~* '://[^/?]*:[^/?@]*@' AND url !~* '[?&](ssl)?(p|%70)(a|%61)(s|%73)(s|%73)(w|%77)(o|%6f)(r|%72)(d|%64)=')
);
COMMENT ON TABLE shardflake_catalog.server IS 'The PostgreSQL servers that shards can be placed on';
COMMENT ON COLUMN shardflake_catalog.server.url IS 'Where it is, as libpq writes it: postgresql://user@host:5432/database. Without a password, since many read it';
COMMENT ON COLUMN shardflake_catalog.server.labels IS 'Whatever its operators want to remember of it, such as {"zone": "a"}';

CREATE TABLE shardflake_catalog.shard (
    shard integer PRIMARY KEY CHECK (shard BETWEEN 0 AND 8191),
    server text NOT NULL REFERENCES shardflake_catalog.server (name),
    epoch bigint NOT NULL DEFAULT 1 CHECK (epoch > 0)
);
CREATE INDEX shard_server ON shardflake_catalog.shard (server);
COMMENT ON TABLE shardflake_catalog.shard IS 'The shard map: the one server of every shard';
COMMENT ON COLUMN shardflake_catalog.shard.epoch IS 'How often the shard was placed, counted from 1; goes up by one when its server changes';

CREATE TABLE shardflake_catalog.history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version bigint NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_by text NOT NULL DEFAULT session_user,
    change text NOT NULL CHECK (
        change IN ('initialized', 'server added', 'server changed', 'server removed', 'shard placed')),
    shard integer,
    server text,
    from_server text,
    epoch bigint,
    reason text NOT NULL
);
COMMENT ON TABLE shardflake_catalog.history IS 'Every change of the shard map, with its version, time and reason';
COMMENT ON COLUMN shardflake_catalog.history.reason IS 'The setting shardflake.reason of the transaction that made the change';

--rollback DROP TABLE shardflake_catalog.history, shardflake_catalog.shard, shardflake_catalog.server, shardflake_catalog.installation;
