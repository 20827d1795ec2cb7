--liquibase formatted sql logicalFilePath:shardflake/install/moves.sql

--changeset shardflake:move_tables splitStatements:false stripComments:false
--preconditions onFail:MARK_RAN
--precondition-sql-check expectedResult:0 SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'move_marker' AND relnamespace = 'shardflake'::regnamespace
CREATE TABLE shardflake.move_claim (
    move text PRIMARY KEY,
    claim bigint NOT NULL
);
COMMENT ON TABLE shardflake.move_claim IS 'Which of those who work on a move this server obeys: the one with the latest claim. Stays on its server';
COMMENT ON COLUMN shardflake.move_claim.move IS 'The move''s tag, such as m3_a1b2c3';
COMMENT ON COLUMN shardflake.move_claim.claim IS 'Counted by the catalog, up by one whenever somebody takes the move up';

CREATE TABLE shardflake.move_marker (
    stream text PRIMARY KEY,
    mark bigint NOT NULL,
    marked_at timestamptz NOT NULL
);
COMMENT ON TABLE shardflake.move_marker IS 'How far a replication stream of a move has come: its publisher increases the mark, and its subscriber has all that was committed before when it has the mark';
COMMENT ON COLUMN shardflake.move_marker.stream IS 'The move''s tag and the direction, such as m3_a1b2c3_forward';
COMMENT ON COLUMN shardflake.move_marker.marked_at IS 'By the clock of the publisher';

--rollback DROP TABLE shardflake.move_marker, shardflake.move_claim;
