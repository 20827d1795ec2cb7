-- The format of 0.1.0, frozen: function library 1 and catalog 1, with 4 shards on db1 and none on db2. Never changed.
-- shardflake init --shards 4 --server db1=...; schema deploy --uid-column uid; server add db2 ... --label zone=b
-- pg_dump 15 --no-owner --inserts, without its comments

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE SCHEMA shardflake_catalog;

COMMENT ON SCHEMA shardflake_catalog IS 'Shardflake: which server has which shard';

CREATE FUNCTION shardflake_catalog.catalog_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 1;

COMMENT ON FUNCTION shardflake_catalog.catalog_version() IS 'The version of the catalog''s schema, which goes up whenever it changes: no older program replaces it. The shard map has a version of its own';

CREATE FUNCTION shardflake_catalog.check_initialized() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM shardflake_catalog.shard) THEN
        RAISE EXCEPTION 'the installation has no shards'
            USING ERRCODE = 'SF010',
                  HINT = format('Insert servers, the installation, and then shards 0..%s, in one transaction.', NEW.shard_count - 1);
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.check_initialized() IS 'Internal: at commit, refuses an installation whose shards were not placed. Error: SF010';

CREATE FUNCTION shardflake_catalog.check_shards() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * Shards are placed all at once, by one INSERT after that of the installation, and never come or go later.
 */
DECLARE
    v_shard_count integer;
    v_version bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM new_shard) THEN
        RETURN NULL;
    END IF;
    SELECT shard_count, version INTO v_shard_count, v_version FROM shardflake_catalog.installation;
    IF v_shard_count IS DISTINCT FROM (SELECT count(*) FROM shardflake_catalog.shard)
        OR v_shard_count IS DISTINCT FROM (SELECT max(shard) + 1 FROM shardflake_catalog.shard)
    THEN
        RAISE EXCEPTION 'the shards would not be exactly 0..%', COALESCE((v_shard_count - 1)::text, 'shard_count - 1')
            USING ERRCODE = 'SF010',
                  HINT = 'The number of shards is fixed. Insert the installation first, then all of its shards in one statement; to move a shard, update its server.';
    END IF;
    INSERT INTO shardflake_catalog.history (version, change, reason)
        VALUES (v_version, 'initialized', shardflake_catalog.reason());
    PERFORM pg_notify('shardflake_map', v_version::text);
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.check_shards() IS 'Internal: refuses shards other than 0..shard_count-1, and records the initial placement. Error: SF010';

CREATE FUNCTION shardflake_catalog.grant_read(role name) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA shardflake_catalog TO %I', role);
    EXECUTE format(
        'GRANT SELECT ON shardflake_catalog.installation, shardflake_catalog.server, shardflake_catalog.shard, shardflake_catalog.history,
                         shardflake_catalog.move, shardflake_catalog.move_shard TO %I',
        role);
END
$$;

COMMENT ON FUNCTION shardflake_catalog.grant_read(role name) IS 'Lets a role read the shard map and its history, which is all that a router needs. Error: 42704 when there is no such role';

CREATE FUNCTION shardflake_catalog.keep_installation() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF NEW.shard_count <> OLD.shard_count OR NEW.epoch_ms <> OLD.epoch_ms OR NEW.id <> OLD.id THEN
        RAISE EXCEPTION 'shard_count, epoch_ms and id of an installation never change'
            USING ERRCODE = 'SF010',
                  DETAIL = format('They are %s and %s; the update says %s and %s.',
                                  OLD.shard_count, OLD.epoch_ms, NEW.shard_count, NEW.epoch_ms),
                  HINT = 'Every row is where uid mod shard_count says, and every id counts its time from epoch_ms.';
    END IF;
    IF NEW.version <= OLD.version THEN
        RAISE EXCEPTION 'version % is not above the present one, %', NEW.version, OLD.version
            USING ERRCODE = 'SF010',
                  HINT = 'Leave the version alone: it goes up with every change of a server or a placement.';
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.keep_installation() IS 'Internal: refuses another shard count or epoch, and a version that does not grow. Error: SF010';

CREATE FUNCTION shardflake_catalog.keep_placement() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_epoch bigint := OLD.epoch + (NEW.server <> OLD.server)::integer;
BEGIN
    IF NEW.shard <> OLD.shard THEN
        RAISE EXCEPTION 'shard % cannot become shard %', OLD.shard, NEW.shard
            USING ERRCODE = 'SF010', HINT = 'Its number is in the ids of its rows. To move it, update its server.';
    END IF;
    -- More than by one when a catalog that was restored catches up with what servers know.
    IF NEW.epoch NOT IN (OLD.epoch, v_epoch) AND (NEW.epoch < v_epoch OR current_setting('shardflake.catch_up', true) IS DISTINCT FROM 'on') THEN
        RAISE EXCEPTION 'epoch % of shard % cannot become %', OLD.epoch, OLD.shard, NEW.epoch
            USING ERRCODE = 'SF010', HINT = 'Leave the epoch alone: it goes up by one when the server changes.';
    END IF;
    IF NEW.server <> OLD.server AND EXISTS (
        SELECT FROM shardflake_catalog.move_shard m
         WHERE m.shard = OLD.shard AND m.move::text IS DISTINCT FROM current_setting('shardflake.move', true))
    THEN
        RAISE EXCEPTION 'shard % is being moved, and its placement is the move''s to change', OLD.shard
            USING ERRCODE = 'SF010',
                  HINT = format('Wait for move %s to end, or cancel it: shardflake move status.',
                                (SELECT m.move FROM shardflake_catalog.move_shard m WHERE m.shard = OLD.shard));
    END IF;
    NEW.epoch := GREATEST(NEW.epoch, v_epoch);
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.keep_placement() IS 'Internal: increases the epoch of a shard whose server changes, and refuses other changes of number and epoch, and changes of a shard that is being moved by others than its move. Error: SF010';

CREATE FUNCTION shardflake_catalog.reason() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE(NULLIF(current_setting('shardflake.reason'::text, true), ''::text), 'not given'::text);

COMMENT ON FUNCTION shardflake_catalog.reason() IS 'Why the shard map is being changed: the setting shardflake.reason. Give it with SET LOCAL shardflake.reason = ''...''';

CREATE FUNCTION shardflake_catalog.record_change() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * The update locks the one row until the transaction ends, so versions are in the order of commits. A
 * transaction that has made a version already, and so its row, makes no other.
 */
DECLARE
    v_version bigint;
BEGIN
    UPDATE shardflake_catalog.installation SET version = version + 1, changed_at = clock_timestamp()
        WHERE xmin <> pg_current_xact_id()::xid
        RETURNING version INTO v_version;
    IF v_version IS NULL THEN
        RETURN (SELECT version FROM shardflake_catalog.installation);
    END IF;
    PERFORM pg_notify('shardflake_map', v_version::text);
    RETURN v_version;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.record_change() IS 'Internal: increases the version of the shard map, once a transaction, tells the routers by NOTIFY shardflake_map, and returns the version; null before there is a map';

CREATE FUNCTION shardflake_catalog.record_placements() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_version bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM new_shard n JOIN old_shard o USING (shard) WHERE n.server <> o.server) THEN
        RETURN NULL;
    END IF;
    v_version := shardflake_catalog.record_change();
    INSERT INTO shardflake_catalog.history (version, change, shard, server, from_server, epoch, reason)
    SELECT v_version, 'shard placed', n.shard, n.server, o.server, n.epoch, shardflake_catalog.reason()
      FROM new_shard n JOIN old_shard o USING (shard)
     WHERE n.server <> o.server
     ORDER BY n.shard;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.record_placements() IS 'Internal: records shards whose server changed as a new version of the shard map';

CREATE FUNCTION shardflake_catalog.record_server() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_version bigint;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    v_version := shardflake_catalog.record_change();
    -- Before there is a map, servers are part of its making, which is recorded as a whole.
    IF v_version IS NOT NULL THEN
        INSERT INTO shardflake_catalog.history (version, change, server, from_server, reason)
        VALUES (v_version,
                CASE TG_OP WHEN 'INSERT' THEN 'server added' WHEN 'DELETE' THEN 'server removed' ELSE 'server changed' END,
                COALESCE(NEW.name, OLD.name),
                CASE WHEN TG_OP = 'UPDATE' AND NEW.name <> OLD.name THEN OLD.name END,
                shardflake_catalog.reason());
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.record_server() IS 'Internal: records a server that was added, changed or removed as a new version of the shard map';

CREATE FUNCTION shardflake_catalog.refuse() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION '% on %.% is refused: the catalog keeps it', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'SF010',
              HINT = 'Place shards by UPDATE of shardflake_catalog.shard; the rest is recorded by itself.';
END
$$;

COMMENT ON FUNCTION shardflake_catalog.refuse() IS 'Internal: refuses what would take the catalog apart. Error: SF010';

CREATE FUNCTION shardflake_catalog.switch_shard(move bigint, claim bigint, shard integer, attempt bigint, epoch bigint, server text, phase text, mark bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '20ms'
    AS $$
#variable_conflict use_column
/*
 * The one moment at which a shard changes its server. Whatever the caller believes is compared with what is here, in
 * the transaction that makes the change, so that one attempt at most succeeds, and none that has been given up.
 */
DECLARE
    v_epoch bigint;
BEGIN
    PERFORM FROM shardflake_catalog.move m WHERE m.id = switch_shard.move AND m.claim = switch_shard.claim FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'move % has been taken up by another, or is done', move
            USING ERRCODE = 'SF011', HINT = 'Look with shardflake move status.';
    END IF;
    UPDATE shardflake_catalog.move_shard m
       SET phase = switch_shard.phase, mark = switch_shard.mark, verified = '', switched_at = clock_timestamp()
     WHERE m.move = switch_shard.move AND m.shard = switch_shard.shard
       AND m.attempt = switch_shard.attempt AND m.phase = 'cutting over';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'attempt % to cut over shard % was given up', attempt, shard
            USING ERRCODE = 'SF011', HINT = 'Look with shardflake move status.';
    END IF;
    PERFORM set_config('shardflake.move', move::text, true);
    PERFORM set_config('shardflake.reason', format('move %s', move), true);
    UPDATE shardflake_catalog.shard s SET server = switch_shard.server
     WHERE s.shard = switch_shard.shard AND s.epoch = switch_shard.epoch AND s.server <> switch_shard.server
     RETURNING s.epoch INTO v_epoch;
    IF v_epoch IS NULL THEN
        RAISE EXCEPTION 'shard % is no longer at epoch %', shard, epoch
            USING ERRCODE = 'SF011', HINT = 'Look with shardflake map history.';
    END IF;
    RETURN v_epoch;
END
$$;

COMMENT ON FUNCTION shardflake_catalog.switch_shard(move bigint, claim bigint, shard integer, attempt bigint, epoch bigint, server text, phase text, mark bigint) IS 'Internal: places a moving shard on its other server, if the move''s claim, the attempt and the shard''s epoch are still the ones given; returns the new epoch. Error: SF011 when they are not';

SET default_tablespace = '';

CREATE TABLE shardflake_catalog.databasechangelog (
    id character varying(255) NOT NULL,
    author character varying(255) NOT NULL,
    filename character varying(255) NOT NULL,
    dateexecuted timestamp without time zone NOT NULL,
    orderexecuted integer NOT NULL,
    exectype character varying(10) NOT NULL,
    md5sum character varying(35),
    description character varying(255),
    comments character varying(255),
    tag character varying(255),
    liquibase character varying(20),
    contexts character varying(255),
    labels character varying(255),
    deployment_id character varying(10)
);

CREATE TABLE shardflake_catalog.databasechangeloglock (
    id integer NOT NULL,
    locked boolean NOT NULL,
    lockgranted timestamp without time zone,
    lockedby character varying(255)
);

CREATE TABLE shardflake_catalog.history (
    id bigint NOT NULL,
    version bigint NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_by text DEFAULT SESSION_USER NOT NULL,
    change text NOT NULL,
    shard integer,
    server text,
    from_server text,
    epoch bigint,
    reason text NOT NULL,
    CONSTRAINT history_change_check CHECK ((change = ANY (ARRAY['initialized'::text, 'server added'::text, 'server changed'::text, 'server removed'::text, 'shard placed'::text, 'move started'::text, 'move completed'::text, 'move cancelled'::text])))
);

COMMENT ON TABLE shardflake_catalog.history IS 'Every change of the shard map, with its version, time and reason';

COMMENT ON COLUMN shardflake_catalog.history.reason IS 'The setting shardflake.reason of the transaction that made the change';

ALTER TABLE shardflake_catalog.history ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME shardflake_catalog.history_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE shardflake_catalog.installation (
    only_row boolean DEFAULT true NOT NULL,
    shard_count integer NOT NULL,
    epoch_ms bigint NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT installation_epoch_ms_check CHECK (((epoch_ms >= 0) AND (epoch_ms <= '8639999999999'::bigint))),
    CONSTRAINT installation_only_row_check CHECK (only_row),
    CONSTRAINT installation_shard_count_check CHECK (((shard_count >= 1) AND (shard_count <= 8192))),
    CONSTRAINT installation_version_check CHECK ((version > 0))
);

COMMENT ON TABLE shardflake_catalog.installation IS 'What is chosen once, and the version of the shard map. Every change of the map updates this row, so changes come one after the other';

COMMENT ON COLUMN shardflake_catalog.installation.shard_count IS 'How many logical shards there are: 1..8192. Never changes: a uid lives in shard uid mod shard_count';

COMMENT ON COLUMN shardflake_catalog.installation.epoch_ms IS 'Where the time of an id begins: UTC milliseconds since 1970-01-01. Never changes';

COMMENT ON COLUMN shardflake_catalog.installation.version IS 'Grows with every change of a server or a placement';

COMMENT ON COLUMN shardflake_catalog.installation.id IS 'Tells this installation from others, such as those for tests, where something elsewhere belongs to it. Never changes';

CREATE TABLE shardflake_catalog.move (
    id bigint NOT NULL,
    tag text NOT NULL,
    source text NOT NULL,
    target text NOT NULL,
    phase text DEFAULT 'preparing'::text NOT NULL,
    phase_since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    claim bigint DEFAULT 0 NOT NULL,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    started_by text DEFAULT SESSION_USER NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    problem text DEFAULT ''::text NOT NULL,
    CONSTRAINT move_check CHECK ((source <> target)),
    CONSTRAINT move_phase_check CHECK ((phase = ANY (ARRAY['preparing'::text, 'copying'::text, 'catching up'::text, 'following'::text, 'completing'::text, 'cancelling'::text]))),
    CONSTRAINT move_tag_check CHECK ((tag ~ '^m[0-9]+_[0-9a-f]{6}$'::text))
);

COMMENT ON TABLE shardflake_catalog.move IS 'Moves of shards from one server to another that are not done. A move that is done leaves lines in the history';

COMMENT ON COLUMN shardflake_catalog.move.tag IS 'Names its publications, slots and subscriptions, shardflake_m3_a1b2c3_forward and _reverse, also where several installations share a server';

COMMENT ON COLUMN shardflake_catalog.move.claim IS 'Up by one whenever somebody takes the move up, so that servers can refuse the one before';

COMMENT ON COLUMN shardflake_catalog.move.problem IS 'What went wrong last; empty when nothing has since';

ALTER TABLE shardflake_catalog.move ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME shardflake_catalog.move_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE shardflake_catalog.move_shard (
    shard integer NOT NULL,
    move bigint NOT NULL,
    phase text DEFAULT 'waiting'::text NOT NULL,
    attempt bigint DEFAULT 0 NOT NULL,
    mark bigint,
    bytes bigint DEFAULT 0 NOT NULL,
    rows bigint DEFAULT 0 NOT NULL,
    verified text DEFAULT ''::text NOT NULL,
    pause_ms double precision,
    switched_at timestamp with time zone,
    CONSTRAINT move_shard_phase_check CHECK ((phase = ANY (ARRAY['waiting'::text, 'copied'::text, 'cutting over'::text, 'switched'::text]))),
    CONSTRAINT move_shard_verified_check CHECK ((verified = ANY (ARRAY[''::text, 'online'::text, 'at cutover'::text, 'different'::text])))
);

COMMENT ON TABLE shardflake_catalog.move_shard IS 'The shards of moves that are not done; a shard is in one move at a time';

COMMENT ON COLUMN shardflake_catalog.move_shard.phase IS 'switched means: the shard map gives it to the target';

COMMENT ON COLUMN shardflake_catalog.move_shard.attempt IS 'Counts the attempts at cutover; the map is changed only by the attempt that is the latest';

COMMENT ON COLUMN shardflake_catalog.move_shard.mark IS 'The server that takes the shard over may open it when its stream has this mark';

COMMENT ON COLUMN shardflake_catalog.move_shard.bytes IS 'Copied so far, as COPY counts them';

COMMENT ON COLUMN shardflake_catalog.move_shard.verified IS 'How source and target were last found to agree: while following, at the cutover point, or not';

COMMENT ON COLUMN shardflake_catalog.move_shard.pause_ms IS 'From the fence being raised to the target being open, in milliseconds, as measured by whoever cut over';

CREATE TABLE shardflake_catalog.server (
    name text NOT NULL,
    url text NOT NULL,
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT server_labels_check CHECK (((jsonb_typeof(labels) = 'object'::text) AND (NOT jsonb_path_exists(labels, '$.*?(@.type() != "string")'::jsonpath)))),
    CONSTRAINT server_name_check CHECK ((name ~ '^[a-z0-9]([a-z0-9_.-]{0,61}[a-z0-9])?$'::text)),
    CONSTRAINT server_url_check CHECK ((url ~ '^postgresql://'::text)),
    CONSTRAINT url_holds_no_password CHECK (((url !~* '://[^/?]*:[^/?@]*@'::text) AND (url !~* '[?&](ssl)?(p|%70)(a|%61)(s|%73)(s|%73)(w|%77)(o|%6f)(r|%72)(d|%64)='::text)))
);

COMMENT ON TABLE shardflake_catalog.server IS 'The PostgreSQL servers that shards can be placed on';

COMMENT ON COLUMN shardflake_catalog.server.url IS 'Where it is, as libpq writes it: postgresql://user@host:5432/database. Without a password, since many read it';

COMMENT ON COLUMN shardflake_catalog.server.labels IS 'Whatever its operators want to remember of it, such as {"zone": "a"}';

CREATE TABLE shardflake_catalog.shard (
    shard integer NOT NULL,
    server text NOT NULL,
    epoch bigint DEFAULT 1 NOT NULL,
    CONSTRAINT shard_epoch_check CHECK ((epoch > 0)),
    CONSTRAINT shard_shard_check CHECK (((shard >= 0) AND (shard <= 8191)))
);

COMMENT ON TABLE shardflake_catalog.shard IS 'The shard map: the one server of every shard';

COMMENT ON COLUMN shardflake_catalog.shard.epoch IS 'How often the shard was placed, counted from 1; goes up by one when its server changes';

INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_tables', 'shardflake', 'shardflake/catalog/0001_tables.sql', '2026-11-22 18:12:50.12866', 1, 'EXECUTED', '9:478fffe69a054d9e70ed79454c303672', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_version', 'shardflake', 'shardflake/catalog/catalog_version.sql', '2026-11-22 18:12:50.14589', 2, 'EXECUTED', '9:559568ad6dc0fde45722111236adf732', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_moves', 'shardflake', 'shardflake/catalog/0003_moves.sql', '2026-11-22 18:12:50.196539', 3, 'EXECUTED', '9:4e270524e14a728009f916c51887f9d2', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_refuse', 'shardflake', 'shardflake/catalog/refuse.sql', '2026-11-22 18:12:50.20853', 4, 'EXECUTED', '9:5658e5f12a69c34e03d96a5c27ce9b47', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_record_change', 'shardflake', 'shardflake/catalog/record_change.sql', '2026-11-22 18:12:50.227328', 5, 'EXECUTED', '9:ef852ae2fda212bc5c65323d03dda1c5', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_reason', 'shardflake', 'shardflake/catalog/record_change.sql', '2026-11-22 18:12:50.242964', 6, 'EXECUTED', '9:d824412f349b7d2089641ec13e3be931', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_keep_installation', 'shardflake', 'shardflake/catalog/check_installation.sql', '2026-11-22 18:12:50.26007', 7, 'EXECUTED', '9:25b44d745f489046066bb739fb59840a', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_check_initialized', 'shardflake', 'shardflake/catalog/check_installation.sql', '2026-11-22 18:12:50.274365', 8, 'EXECUTED', '9:601e8aac12ac71d6465d1b4df4393b43', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_check_shards', 'shardflake', 'shardflake/catalog/check_shards.sql', '2026-11-22 18:12:50.288996', 9, 'EXECUTED', '9:7a65cb91e2f287b80e330d632bb74c20', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_keep_placement', 'shardflake', 'shardflake/catalog/keep_placement.sql', '2026-11-22 18:12:50.30491', 10, 'EXECUTED', '9:639d70c79e9853ce51d8d218dbceed72', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_record_servers', 'shardflake', 'shardflake/catalog/record_servers.sql', '2026-11-22 18:12:50.321308', 11, 'EXECUTED', '9:6a21a9cd1965e7bbf096844ed977092c', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_record_placements', 'shardflake', 'shardflake/catalog/record_placements.sql', '2026-11-22 18:12:50.33404', 12, 'EXECUTED', '9:c86454c93cbe7f3ecd1a15c9037add5a', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_triggers', 'shardflake', 'shardflake/catalog/0002_triggers.sql', '2026-11-22 18:12:50.3451', 13, 'EXECUTED', '9:33ed2e9510da59f60daa1e5405cc5e6b', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_switch_shard', 'shardflake', 'shardflake/catalog/switch_shard.sql', '2026-11-22 18:12:50.361853', 14, 'EXECUTED', '9:0aae7c365173a815f2b59e754d8551d7', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_installation_id', 'shardflake', 'shardflake/catalog/0004_installation_id.sql', '2026-11-22 18:12:50.381549', 15, 'EXECUTED', '9:c0e38a1001611b8c5fcdf5918980786f', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake_catalog.databasechangelog VALUES ('catalog_grant_read', 'shardflake', 'shardflake/catalog/grant_read.sql', '2026-11-22 18:12:50.395078', 16, 'EXECUTED', '9:de1c4d85d1fdeccba8ab385bc0245407', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');

INSERT INTO shardflake_catalog.databasechangeloglock VALUES (1, false, NULL, NULL);

INSERT INTO shardflake_catalog.history OVERRIDING SYSTEM VALUE VALUES (1, 1, '2026-11-22 18:12:50.465493+00', 'postgres', 'initialized', NULL, NULL, NULL, NULL, 'the first server');
INSERT INTO shardflake_catalog.history OVERRIDING SYSTEM VALUE VALUES (2, 2, '2026-11-22 18:13:02.345763+00', 'postgres', 'server added', NULL, 'db2', NULL, NULL, 'not given');

INSERT INTO shardflake_catalog.installation VALUES (true, 4, 1735689600000, 2, '2026-11-22 18:13:02.345015+00', '0bfaeb7b-316b-4111-8e63-ccc96d665c9a');

INSERT INTO shardflake_catalog.server VALUES ('db1', 'postgresql://app@db1/app', '{}');
INSERT INTO shardflake_catalog.server VALUES ('db2', 'postgresql://app@db2/app', '{"zone": "b"}');

INSERT INTO shardflake_catalog.shard VALUES (0, 'db1', 1);
INSERT INTO shardflake_catalog.shard VALUES (1, 'db1', 1);
INSERT INTO shardflake_catalog.shard VALUES (2, 'db1', 1);
INSERT INTO shardflake_catalog.shard VALUES (3, 'db1', 1);

SELECT pg_catalog.setval('shardflake_catalog.history_id_seq', 2, true);

SELECT pg_catalog.setval('shardflake_catalog.move_id_seq', 1, false);

ALTER TABLE ONLY shardflake_catalog.databasechangeloglock
    ADD CONSTRAINT databasechangeloglock_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shardflake_catalog.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shardflake_catalog.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shardflake_catalog.move
    ADD CONSTRAINT move_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shardflake_catalog.move_shard
    ADD CONSTRAINT move_shard_pkey PRIMARY KEY (shard);

ALTER TABLE ONLY shardflake_catalog.move
    ADD CONSTRAINT move_tag_key UNIQUE (tag);

ALTER TABLE ONLY shardflake_catalog.server
    ADD CONSTRAINT server_pkey PRIMARY KEY (name);

ALTER TABLE ONLY shardflake_catalog.server
    ADD CONSTRAINT server_url_key UNIQUE (url) DEFERRABLE;

ALTER TABLE ONLY shardflake_catalog.shard
    ADD CONSTRAINT shard_pkey PRIMARY KEY (shard);

CREATE INDEX move_shard_move ON shardflake_catalog.move_shard USING btree (move);

CREATE INDEX shard_server ON shardflake_catalog.shard USING btree (server);

CREATE TRIGGER check_all AFTER INSERT ON shardflake_catalog.shard REFERENCING NEW TABLE AS new_shard FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.check_shards();

CREATE CONSTRAINT TRIGGER initialized AFTER INSERT ON shardflake_catalog.installation DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shardflake_catalog.check_initialized();

CREATE TRIGGER keep BEFORE UPDATE ON shardflake_catalog.installation FOR EACH ROW EXECUTE FUNCTION shardflake_catalog.keep_installation();

CREATE TRIGGER keep BEFORE UPDATE ON shardflake_catalog.shard FOR EACH ROW EXECUTE FUNCTION shardflake_catalog.keep_placement();

CREATE TRIGGER record AFTER INSERT OR DELETE OR UPDATE ON shardflake_catalog.server FOR EACH ROW EXECUTE FUNCTION shardflake_catalog.record_server();

CREATE TRIGGER record AFTER UPDATE ON shardflake_catalog.shard REFERENCING OLD TABLE AS old_shard NEW TABLE AS new_shard FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.record_placements();

CREATE TRIGGER refuse BEFORE DELETE OR UPDATE OR TRUNCATE ON shardflake_catalog.history FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.refuse();

CREATE TRIGGER refuse BEFORE DELETE OR TRUNCATE ON shardflake_catalog.installation FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.refuse();

CREATE TRIGGER refuse BEFORE TRUNCATE ON shardflake_catalog.server FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.refuse();

CREATE TRIGGER refuse BEFORE DELETE OR TRUNCATE ON shardflake_catalog.shard FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.refuse();

ALTER TABLE ONLY shardflake_catalog.move_shard
    ADD CONSTRAINT move_shard_move_fkey FOREIGN KEY (move) REFERENCES shardflake_catalog.move(id);

ALTER TABLE ONLY shardflake_catalog.move_shard
    ADD CONSTRAINT move_shard_shard_fkey FOREIGN KEY (shard) REFERENCES shardflake_catalog.shard(shard);

ALTER TABLE ONLY shardflake_catalog.move
    ADD CONSTRAINT move_source_fkey FOREIGN KEY (source) REFERENCES shardflake_catalog.server(name);

ALTER TABLE ONLY shardflake_catalog.move
    ADD CONSTRAINT move_target_fkey FOREIGN KEY (target) REFERENCES shardflake_catalog.server(name);

ALTER TABLE ONLY shardflake_catalog.shard
    ADD CONSTRAINT shard_server_fkey FOREIGN KEY (server) REFERENCES shardflake_catalog.server(name);

REVOKE ALL ON FUNCTION shardflake_catalog.check_initialized() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.check_shards() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.grant_read(role name) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.keep_installation() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.keep_placement() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.reason() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.record_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.record_placements() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.record_server() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.refuse() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake_catalog.switch_shard(move bigint, claim bigint, shard integer, attempt bigint, epoch bigint, server text, phase text, mark bigint) FROM PUBLIC;

