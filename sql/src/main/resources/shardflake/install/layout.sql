--liquibase formatted sql logicalFilePath:shardflake/install/layout.sql

--changeset shardflake:layout splitStatements:false stripComments:false
--validCheckSum 1:any
--preconditions onFail:MARK_RAN
--precondition-sql-check expectedResult:0 SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'layout' AND relnamespace = 'shardflake'::regnamespace
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE TABLE shardflake.layout (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch_ms bigint NOT NULL CHECK (epoch_ms BETWEEN 0 AND 8639999999999),
    layout_version integer NOT NULL CHECK (layout_version > 0),
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

COMMENT ON TABLE shardflake.layout IS 'How the ids of this database are laid out. Recorded once, never changed: every id made so far depends on it';
COMMENT ON COLUMN shardflake.layout.epoch_ms IS 'Where the time of an id begins: UTC milliseconds since 1970-01-01';
COMMENT ON COLUMN shardflake.layout.layout_version IS 'Version 1: 41 bits of milliseconds since the epoch, 13 bits of shard, 10 bits of sequence';

INSERT INTO shardflake.layout (epoch_ms, layout_version) VALUES (${shardflake.epoch}, 1);

CREATE FUNCTION shardflake.refuse_layout_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'the id layout of this database is recorded once and cannot change: every id made so far depends on it'
        USING ERRCODE = 'SF003',
              HINT = 'To use another epoch, deploy Shardflake into a database that has made no ids.';
END
$$;

CREATE TRIGGER layout_is_fixed
    BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON shardflake.layout
    FOR EACH STATEMENT EXECUTE FUNCTION shardflake.refuse_layout_change();

-- The same number as a constant, which PostgreSQL folds into every expression that uses it.
CREATE OR REPLACE FUNCTION shardflake.epoch_ms() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ${shardflake.epoch}::bigint;

COMMENT ON FUNCTION shardflake.epoch_ms() IS 'Where the time of an id begins: UTC milliseconds since 1970-01-01. Equals shardflake.layout.epoch_ms';

REVOKE ALL ON TABLE shardflake.layout FROM PUBLIC;
GRANT SELECT ON TABLE shardflake.layout TO PUBLIC;

--rollback DROP FUNCTION shardflake.epoch_ms();
--rollback DROP TABLE shardflake.layout;
--rollback DROP FUNCTION shardflake.refuse_layout_change();
