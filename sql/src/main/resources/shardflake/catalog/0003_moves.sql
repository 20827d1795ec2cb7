--liquibase formatted sql logicalFilePath:shardflake/catalog/0003_moves.sql

--changeset shardflake:catalog_moves splitStatements:false stripComments:false
CREATE TABLE shardflake_catalog.move (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tag text NOT NULL UNIQUE CHECK (tag ~ '^m[0-9]+_[0-9a-f]{6}$'),
    source text NOT NULL REFERENCES shardflake_catalog.server (name),
    target text NOT NULL REFERENCES shardflake_catalog.server (name),
    phase text NOT NULL DEFAULT 'preparing' CHECK (
        phase IN ('preparing', 'copying', 'catching up', 'following', 'completing', 'cancelling')),
    phase_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    claim bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_by text NOT NULL DEFAULT session_user,
    reason text NOT NULL DEFAULT '',
    problem text NOT NULL DEFAULT '',
    CHECK (source <> target)
);
COMMENT ON TABLE shardflake_catalog.move IS 'Moves of shards from one server to another that are not done. A move that is done leaves lines in the history';
COMMENT ON COLUMN shardflake_catalog.move.tag IS 'Names its publications, slots and subscriptions, shardflake_m3_a1b2c3_forward and _reverse, also where several installations share a server';
COMMENT ON COLUMN shardflake_catalog.move.claim IS 'Up by one whenever somebody takes the move up, so that servers can refuse the one before';
COMMENT ON COLUMN shardflake_catalog.move.problem IS 'What went wrong last; empty when nothing has since';

CREATE TABLE shardflake_catalog.move_shard (
    shard integer PRIMARY KEY REFERENCES shardflake_catalog.shard (shard),
    move bigint NOT NULL REFERENCES shardflake_catalog.move (id),
    phase text NOT NULL DEFAULT 'waiting' CHECK (phase IN ('waiting', 'copied', 'cutting over', 'switched')),
    attempt bigint NOT NULL DEFAULT 0,
    mark bigint,
    bytes bigint NOT NULL DEFAULT 0,
    rows bigint NOT NULL DEFAULT 0,
    verified text NOT NULL DEFAULT '' CHECK (verified IN ('', 'online', 'at cutover', 'different')),
    pause_ms double precision,
    switched_at timestamptz
);
CREATE INDEX move_shard_move ON shardflake_catalog.move_shard (move);
COMMENT ON TABLE shardflake_catalog.move_shard IS 'The shards of moves that are not done; a shard is in one move at a time';
COMMENT ON COLUMN shardflake_catalog.move_shard.phase IS 'switched means: the shard map gives it to the target';
COMMENT ON COLUMN shardflake_catalog.move_shard.attempt IS 'Counts the attempts at cutover; the map is changed only by the attempt that is the latest';
COMMENT ON COLUMN shardflake_catalog.move_shard.mark IS 'The server that takes the shard over may open it when its stream has this mark';
COMMENT ON COLUMN shardflake_catalog.move_shard.bytes IS 'Copied so far, as COPY counts them';
COMMENT ON COLUMN shardflake_catalog.move_shard.verified IS 'How source and target were last found to agree: while following, at the cutover point, or not';
COMMENT ON COLUMN shardflake_catalog.move_shard.pause_ms IS 'From the fence being raised to the target being open, in milliseconds, as measured by whoever cut over';

ALTER TABLE shardflake_catalog.history DROP CONSTRAINT history_change_check;
ALTER TABLE shardflake_catalog.history ADD CONSTRAINT history_change_check CHECK (
    change IN ('initialized', 'server added', 'server changed', 'server removed', 'shard placed',
               'move started', 'move completed', 'move cancelled'));

--rollback ALTER TABLE shardflake_catalog.history DROP CONSTRAINT history_change_check;
--rollback ALTER TABLE shardflake_catalog.history ADD CONSTRAINT history_change_check CHECK (change IN ('initialized', 'server added', 'server changed', 'server removed', 'shard placed')) NOT VALID;
--rollback DROP TABLE shardflake_catalog.move_shard, shardflake_catalog.move;
