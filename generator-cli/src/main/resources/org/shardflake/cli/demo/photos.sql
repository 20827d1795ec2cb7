--liquibase formatted sql

--changeset demo:${shard.schema} splitStatements:true
CREATE TABLE ${shard.schema}.photo (
    id bigint PRIMARY KEY,
    uid bigint NOT NULL,
    title text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
SELECT shardflake.add_id_sequence('${shard.schema}.photo');
SELECT shardflake.add_fence('${shard.schema}.photo');

CREATE TABLE ${shard.schema}."like" (
    id bigint PRIMARY KEY,
    uid bigint NOT NULL,
    photo_id bigint NOT NULL REFERENCES ${shard.schema}.photo,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
SELECT shardflake.add_id_sequence('${shard.schema}."like"');
SELECT shardflake.add_fence('${shard.schema}."like"');
--rollback DROP TABLE ${shard.schema}."like", ${shard.schema}.photo;
