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

CREATE SCHEMA shard_0000;

COMMENT ON SCHEMA shard_0000 IS 'Shardflake: logical shard 0';

CREATE SCHEMA shard_0001;

COMMENT ON SCHEMA shard_0001 IS 'Shardflake: logical shard 1';

CREATE SCHEMA shard_0002;

COMMENT ON SCHEMA shard_0002 IS 'Shardflake: logical shard 2';

CREATE SCHEMA shard_0003;

COMMENT ON SCHEMA shard_0003 IS 'Shardflake: logical shard 3';

CREATE SCHEMA shardflake;

COMMENT ON SCHEMA shardflake IS 'Shardflake: ids that say when they were made and in which shard';

CREATE SCHEMA shardflake_deploy;

CREATE SCHEMA shardflake_internal;

COMMENT ON SCHEMA shardflake_internal IS 'Shardflake: what only its own functions call. No role is to have USAGE on it';

CREATE FUNCTION shardflake.draw_id(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
/*
 * The sequence is the clock: it holds ticks, milliseconds since the epoch * 1024 + count, and hands out each once.
 * As long as it lags the real clock by 3 ms at most (or runs ahead of it) a plain nextval is the whole
 * work; otherwise draw_cold moves it forward. So ids of one sequence never repeat and always increase,
 * whatever the clock does; advance_sequence says why that needs no lock here.
 *
 * No operator stands in this body and every name is qualified, so the caller's search_path does not matter,
 * and no SET clause makes the call slower. PL/pgSQL prepares an expression anew in every transaction, at some
 * 0.3 us for each operator and function in it: hence few of them, and the cold path in a statement of its own.
 */
DECLARE
    v_last bigint := pg_catalog.pg_sequence_last_value(sequence);
    v_ticks bigint;
BEGIN
    IF shardflake.is_hot(v_last) AND shardflake.is_shard(shard) THEN
        v_ticks := pg_catalog.nextval(sequence);
    ELSE
        v_ticks := shardflake.draw_cold(shard, sequence);
    END IF;
    WHILE shardflake.is_stopped(v_ticks) LOOP -- fenced, or moved forward by another at this moment
        v_ticks := shardflake.draw_cold(shard, sequence);
    END LOOP;
    RETURN shardflake.compose_id(v_ticks, shard);
END
$$;

COMMENT ON FUNCTION shardflake.draw_id(shard integer, sequence regclass) IS 'Internal: what next_id does. It has a name of its own because PostgreSQL looks a name up among all functions that have it, and each shard has two next_id';

CREATE SEQUENCE shard_0000.id_seq
    START WITH 0
    INCREMENT BY 1
    MINVALUE -1125899906842624
    MAXVALUE 1125899906842623
    CACHE 1;

CREATE FUNCTION shard_0000.next_id() RETURNS bigint
    LANGUAGE sql
    RETURN shardflake.draw_id(0, 'shard_0000.id_seq'::regclass);

CREATE FUNCTION shard_0000.next_id(sequence regclass) RETURNS bigint
    LANGUAGE sql
    RETURN shardflake.draw_id(0, sequence);

CREATE SEQUENCE shard_0001.id_seq
    START WITH 0
    INCREMENT BY 1
    MINVALUE -1125899906842624
    MAXVALUE 1125899906842623
    CACHE 1;

CREATE FUNCTION shard_0001.next_id() RETURNS bigint
    LANGUAGE sql
    RETURN shardflake.draw_id(1, 'shard_0001.id_seq'::regclass);

CREATE FUNCTION shard_0001.next_id(sequence regclass) RETURNS bigint
    LANGUAGE sql
    RETURN shardflake.draw_id(1, sequence);

CREATE SEQUENCE shard_0002.id_seq
    START WITH 0
    INCREMENT BY 1
    MINVALUE -1125899906842624
    MAXVALUE 1125899906842623
    CACHE 1;

CREATE FUNCTION shard_0002.next_id() RETURNS bigint
    LANGUAGE sql
    RETURN shardflake.draw_id(2, 'shard_0002.id_seq'::regclass);

CREATE FUNCTION shard_0002.next_id(sequence regclass) RETURNS bigint
    LANGUAGE sql
    RETURN shardflake.draw_id(2, sequence);

CREATE SEQUENCE shard_0003.id_seq
    START WITH 0
    INCREMENT BY 1
    MINVALUE -1125899906842624
    MAXVALUE 1125899906842623
    CACHE 1;

CREATE FUNCTION shard_0003.next_id() RETURNS bigint
    LANGUAGE sql
    RETURN shardflake.draw_id(3, 'shard_0003.id_seq'::regclass);

CREATE FUNCTION shard_0003.next_id(sequence regclass) RETURNS bigint
    LANGUAGE sql
    RETURN shardflake.draw_id(3, sequence);

CREATE FUNCTION shardflake.add_check(table_name regclass, column_name name, shard_count integer DEFAULT NULL::integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
/*
 * Operators of pg_catalog only, so that the check costs little and no function can be changed under it. A table with rows gets it
 * NOT VALID: it holds for what is written from now on, and is to be validated when nobody waits for the table.
 */
DECLARE
    v_schema name := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = table_name);
    v_type regtype := (SELECT atttypid FROM pg_attribute WHERE attrelid = table_name AND attname = column_name AND attnum > 0 AND NOT attisdropped);
    v_name name := left(column_name, 54) || '_of_shard';
    v_shard integer;
    v_has_rows boolean;
BEGIN
    IF v_schema !~ '^shard_[0-9]{4}$' IS NOT FALSE THEN
        RAISE EXCEPTION 'table % is not in the schema of a shard', table_name
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'The shard is told by the schema, shard_0007 for instance.';
    END IF;
    v_shard := right(v_schema, 4)::integer;
    IF shard_count NOT BETWEEN v_shard + 1 AND 8192 THEN
        RAISE EXCEPTION 'shard count % is out of range %..8192', shard_count, v_shard + 1
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Pass the number of shards of the installation; it was chosen at init.';
    END IF;
    IF v_type IN ('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype) IS NOT TRUE OR shard_count IS NULL AND v_type <> 'bigint'::regtype THEN
        RAISE EXCEPTION 'column % of table % is %, but % is', column_name, table_name, COALESCE(v_type::text, 'missing'),
                CASE WHEN shard_count IS NULL THEN 'an id is bigint' ELSE 'a uid that can be checked is bigint, integer or smallint' END
            USING ERRCODE = 'datatype_mismatch',
                  HINT = 'Pass the name of such a column.';
    END IF;
    IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = table_name AND conname = v_name) THEN
        RETURN false;
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', table_name) INTO v_has_rows;
    EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%s)%s', table_name, v_name,
        CASE WHEN shard_count IS NULL THEN format('(%I >> 10 & 8191) = %s', column_name, v_shard)
             ELSE format('((%1$I %% %2$s) + %2$s) %% %2$s = %3$s', column_name, shard_count, v_shard) END,
        CASE WHEN v_has_rows THEN ' NOT VALID' ELSE '' END);
    RETURN true;
END
$_$;

COMMENT ON FUNCTION shardflake.add_check(table_name regclass, column_name name, shard_count integer) IS 'Makes a table of a shard refuse ids of other shards or, with the number of shards of the installation, uids of other shards: a check COLUMN_of_shard, NOT VALID if the table has rows. Null passes. Returns false when a constraint of that name is there. Errors: 22023 for a table outside a shard or a shard count out of range, 42804 for a column of another type';

CREATE FUNCTION shardflake.add_fence(table_name regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
/*
 * A statement trigger costs nothing while it is disabled. It is there from the beginning because to enable a
 * trigger takes a weaker lock than to create one, for a shorter time.
 */
DECLARE
    v_schema name := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = table_name);
    v_fenced boolean;
BEGIN
    IF v_schema !~ '^shard_[0-9]{4}$' IS NOT FALSE THEN
        RAISE EXCEPTION 'table % is not in the schema of a shard', table_name
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Create the table in a schema made by shardflake.create_shard, shard_0007 for instance.';
    END IF;
    IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = table_name AND tgfoid = 'shardflake.fence_write'::regproc) THEN
        RETURN;
    END IF;
    v_fenced := shardflake.is_fenced(right(v_schema, 4)::integer);
    PERFORM shardflake.set_fence(table_name, v_fenced);
END
$_$;

COMMENT ON FUNCTION shardflake.add_fence(table_name regclass) IS 'Gives a table of a shard the trigger by which fence_shard refuses writes, disabled unless the shard is fenced now; does nothing when it is there. Error: 22023 for a table outside a shard';

CREATE FUNCTION shardflake.add_id_sequence(table_name regclass, column_name name DEFAULT 'id'::name) RETURNS regclass
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    v_table pg_class;
    v_schema name;
    v_type regtype;
    v_name text;
    v_sequence regclass;
BEGIN
    SELECT * INTO v_table FROM pg_class WHERE oid = table_name;
    v_schema := v_table.relnamespace::regnamespace;
    IF v_schema !~ '^shard_[0-9]{4}$' THEN
        RAISE EXCEPTION 'table % is not in the schema of a shard', table_name
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Create the table in a schema made by shardflake.create_shard, shard_0007 for instance.';
    END IF;
    SELECT atttypid::regtype INTO v_type FROM pg_attribute
     WHERE attrelid = table_name AND attname = column_name AND attnum > 0 AND NOT attisdropped;
    IF v_type IS DISTINCT FROM 'bigint'::regtype THEN
        RAISE EXCEPTION 'column % of table % is %, but an id is bigint', column_name, table_name, COALESCE(v_type::text, 'missing')
            USING ERRCODE = 'datatype_mismatch',
                  HINT = 'Pass the name of a bigint column as the second argument, or change the type of this one.';
    END IF;

    v_name := left(v_table.relname, 58 - length(column_name)) || '_' || column_name || '_seq';
    -- Cut to fit, it can be the name of another table's. A name for these two alone then, the same in every shard.
    IF octet_length(v_name) > 63 OR length(v_name) < length(v_table.relname) + length(column_name) + 5 THEN
        v_sequence := to_regclass(format('%I.%I', v_schema, v_name::name));
        IF v_sequence IS NOT NULL AND NOT EXISTS (
            SELECT FROM pg_depend WHERE objid = v_sequence AND classid = 'pg_class'::regclass AND refobjid = table_name)
        THEN
            v_name := left(v_table.relname, 6) || '_' || md5(v_table.relname || '.' || column_name) || '_seq';
        END IF;
    END IF;
    v_sequence := shardflake.create_id_sequence(v_schema, v_name::name);
    EXECUTE format('ALTER SEQUENCE %s OWNED BY %s.%I', v_sequence, table_name, column_name);
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %I.next_id(%L::regclass)', table_name, column_name, v_schema, v_sequence);
    IF shardflake.adds_checks() THEN
        PERFORM shardflake.add_check(table_name, column_name);
    END IF;
    RETURN v_sequence;
END
$_$;

COMMENT ON FUNCTION shardflake.add_id_sequence(table_name regclass, column_name name) IS 'Gives a table of a shard its own sequence, owned by the column, and the DEFAULT that makes its ids: next_id(sequence), and the check that keeps ids of other shards out. Returns the sequence. Errors: 22023 for a table outside a shard, 42804 for a column that is not bigint, 42P07 when the sequence is there already';

CREATE FUNCTION shardflake.adds_checks() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT COALESCE(NULLIF(current_setting('shardflake.checks', true), ''), 'on')::boolean
$$;

COMMENT ON FUNCTION shardflake.adds_checks() IS 'Internal: whether new tables get checks, as they do unless the session has set shardflake.checks to off';

CREATE FUNCTION shardflake.await_lock(sequence regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * Advisory locks are anybody's to take, and this one is held for microseconds, or while a fence goes up. So the wait has an end.
 */
DECLARE
    v_timeout text := current_setting('lock_timeout');
BEGIN
    IF v_timeout::interval NOT BETWEEN '1 ms' AND '1 s' THEN -- 0 is for ever
        PERFORM set_config('lock_timeout', '1s', true);
    END IF;
    PERFORM pg_advisory_xact_lock(shardflake.lock_key(sequence));
    PERFORM set_config('lock_timeout', v_timeout, true);
END
$$;

COMMENT ON FUNCTION shardflake.await_lock(sequence regclass) IS 'Internal: takes the lock for whoever moves a sequence, until the transaction ends. Error: 55P03 after lock_timeout, which is taken to be 1 s at most';

CREATE FUNCTION shardflake.base32_to_id(base32 text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    -- Not upper(), which follows the locale. "C" for the same reason, and since not every collation can be searched in.
    v_digits text := translate(base32, 'abcdefghjkmnpqrstvwxyzOoIiLl', 'ABCDEFGHJKMNPQRSTVWXYZ001111') COLLATE "C";
    v_digit integer;
    v_id bigint := 0;
BEGIN
    IF length(v_digits) <> 13 THEN
        RAISE EXCEPTION '% is not an id in base32: it has % characters instead of 13', quote_literal(left(base32, 40)), length(base32)
            USING ERRCODE = 'invalid_text_representation',
                  HINT = 'The form has all its leading zeros: shardflake.id_to_base32(7) is 0000000000007.';
    END IF;
    FOR v_place IN 1..13 LOOP
        v_digit := strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ' COLLATE "C", substr(v_digits, v_place, 1)) - 1;
        IF v_digit < 0 THEN
            RAISE EXCEPTION '% is not an id in base32: character % is not one of its digits', quote_literal(base32), v_place
                USING ERRCODE = 'invalid_text_representation',
                      HINT = 'The digits are 0-9 and A-Z without U, in either case; I and L stand for 1, O for 0.';
        END IF;
        IF v_place = 1 AND v_digit > 15 THEN
            RAISE EXCEPTION '% is not an id in base32: it is out of range 0000000000000..FZZZZZZZZZZZZ', quote_literal(base32)
                USING ERRCODE = 'numeric_value_out_of_range',
                      HINT = 'An id has 64 bits.';
        END IF;
        v_id := v_id << 5 | v_digit;
    END LOOP;
    RETURN v_id;
END
$$;

COMMENT ON FUNCTION shardflake.base32_to_id(base32 text) IS 'The id that 13 characters of Crockford''s base32 stand for, in either case, with I and L read as 1 and O as 0. Errors: 22P02 for a wrong length or character, 22003 above 64 bits';

CREATE FUNCTION shardflake.check_claim(move text, claim bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
/*
 * The row stays locked until the transaction ends, so whoever claims the move next waits for what this one does.
 */
DECLARE
    v_claim bigint := (SELECT c.claim FROM shardflake.move_claim c WHERE c.move = check_claim.move FOR SHARE);
BEGIN
    IF v_claim IS DISTINCT FROM check_claim.claim THEN
        RAISE EXCEPTION 'move % has been taken up by another', move
            USING ERRCODE = 'SF011',
                  DETAIL = format('This server obeys claim %s; the statement came with %s.', COALESCE(v_claim::text, 'none'), check_claim.claim),
                  HINT = 'Look with shardflake move status, and let only one of them work.';
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.check_claim(move text, claim bigint) IS 'Internal: refuses whoever no longer has the move, until the end of the transaction. Error: SF011';

CREATE FUNCTION shardflake.check_shard(shard integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    IF shardflake.is_shard(shard) IS NOT TRUE THEN
        RAISE EXCEPTION 'shard % is out of range 0..8191', COALESCE(shard::pg_catalog.text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'A shard is uid modulo the shard count, which is 8192 at most.';
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.check_shard(shard integer) IS 'Raises invalid_parameter_value for a shard outside 0..8191';

CREATE FUNCTION shardflake.checks(shard integer) RETURNS TABLE(target regclass, column_name name, shard_count integer, check_name name, expression text, present boolean, validated boolean)
    LANGUAGE sql STABLE ROWS 20 PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    -- An id is told by its DEFAULT. Partitions have the checks of their table.
    SELECT c.oid::regclass, a.attname, CASE WHEN NOT a.makes_ids THEN u.shard_count END, n.check_name,
           CASE WHEN a.makes_ids THEN format('(%I >> 10 & 8191) = %s', a.attname, shard)
                ELSE format('((%1$I %% %2$s) + %2$s) %% %2$s = %3$s', a.attname, u.shard_count, shard) END,
           k.oid IS NOT NULL, COALESCE(k.convalidated, false)
      FROM shardflake.relations(shard) relation
      JOIN pg_class c ON c.oid = relation AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      LEFT JOIN shardflake.uid_column u ON true
     CROSS JOIN LATERAL (
           SELECT attname, attnum,
                  atttypid = 'bigint'::regtype AND EXISTS (
                      SELECT FROM pg_attrdef d
                        JOIN pg_depend e ON e.classid = 'pg_attrdef'::regclass AND e.objid = d.oid AND e.refclassid = 'pg_proc'::regclass
                        JOIN pg_proc p ON p.oid = e.refobjid AND p.proname IN ('next_id', 'draw_id')
                       WHERE d.adrelid = c.oid AND d.adnum = attnum AND p.pronamespace IN (c.relnamespace, 'shardflake'::regnamespace)) AS makes_ids
             FROM pg_attribute
            WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
              AND (atthasdef OR attname = u.column_name)
              AND atttypid IN ('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)) a
     CROSS JOIN LATERAL (SELECT (left(a.attname, 54) || '_of_shard')::name) n (check_name)
      LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.conname = n.check_name
     WHERE a.makes_ids OR a.attname = u.column_name
     ORDER BY c.relname COLLATE "C", a.attnum
$_$;

COMMENT ON FUNCTION shardflake.checks(shard integer) IS 'Internal: the columns of a shard''s tables that say which shard a row belongs to, ids (shard_count is null) and the uid, and whether a check holds them to it';

CREATE FUNCTION shardflake.claim_move(move text, claim bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO shardflake.move_claim AS c (move, claim) VALUES (claim_move.move, claim_move.claim)
        ON CONFLICT (move) DO UPDATE SET claim = excluded.claim WHERE c.claim < excluded.claim;
    PERFORM shardflake.check_claim(claim_move.move, claim_move.claim);
END
$$;

COMMENT ON FUNCTION shardflake.claim_move(move text, claim bigint) IS 'Internal: makes this server obey the claim given, and no earlier one. Error: SF011 when it obeys a later one';

CREATE FUNCTION shardflake.clock_ms() RETURNS bigint
    LANGUAGE sql PARALLEL SAFE
    RETURN (floor((date_part('epoch'::text, clock_timestamp()) * (1000)::double precision)))::bigint;

COMMENT ON FUNCTION shardflake.clock_ms() IS 'The server''s clock now: UTC milliseconds since 1970-01-01. Ids have their time from here';

CREATE FUNCTION shardflake.complete_tables(shard integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
/*
 * A column that is the whole primary key, bigint, and filled by nothing else is taken to be an id. One that
 * references another table has its values from there, and the uid from the application.
 */
DECLARE
    v_table record;
    v_uid_column name := (SELECT column_name FROM shardflake.uid_column);
    v_new regclass[] := '{}';
BEGIN
    PERFORM shardflake.refuse_relatives(shard);
    FOR v_table IN
        SELECT c.oid::regclass AS target, k.conkey AS key, a.attname AS id,
               a.atttypid = 'bigint'::regtype AND NOT a.atthasdef AND a.attidentity = '' AND NOT c.relispartition
                   AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f' AND k.conkey[1] = ANY (f.conkey))
                   AND a.attname IS DISTINCT FROM v_uid_column AS needs_ids,
               t.oid AS fence, t.oid IS NULL AS needs_fence,
               t.tgenabled = 'D' AND t.tgnargs = 0 OR t.tgenabled <> 'D' AND t.tgargs = 'down\000' AS has_odd_fence, -- see fence_write
               c.relreplident IN ('d', 'i') AND NOT (x.indimmediate AND x.indisvalid AND x.indisready) AS lacks_identity
          FROM shardflake.relations(shard) relation
          JOIN pg_class c ON c.oid = relation
          LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
          LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1] AND cardinality(k.conkey) = 1
          LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgfoid = 'shardflake.fence_write'::regproc
          LEFT JOIN pg_index x ON x.indrelid = c.oid AND CASE c.relreplident WHEN 'i' THEN x.indisreplident ELSE x.indisprimary END
         WHERE c.relkind IN ('r', 'p')
         ORDER BY c.relname COLLATE "C"
    LOOP
        IF v_table.key IS NULL THEN
            RAISE EXCEPTION 'table % has no primary key', v_table.target
                USING ERRCODE = 'invalid_table_definition',
                      HINT = 'Add one: without it the rows of a shard can be neither replicated to another server nor compared.';
        END IF;
        IF v_table.lacks_identity THEN
            RAISE EXCEPTION 'the primary key of table % is deferrable, or its index is not valid', v_table.target
                USING ERRCODE = 'invalid_table_definition',
                      HINT = 'Make it NOT DEFERRABLE: PostgreSQL replicates no UPDATE and no DELETE by such a key, so the shard could not be moved.';
        END IF;
        IF v_table.needs_ids THEN
            PERFORM shardflake.add_id_sequence(v_table.target, v_table.id);
        END IF;
        IF v_table.needs_fence THEN
            PERFORM shardflake.add_fence(v_table.target);
            v_new := v_new || v_table.target;
        ELSIF v_table.has_odd_fence THEN
            EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', v_table.target);
            -- Unless it has gone up meanwhile. This function sees the latest definition, whatever the snapshot.
            IF pg_get_triggerdef(v_table.fence) NOT LIKE '%(''up'')' THEN
                PERFORM shardflake.set_fence(v_table.target, false);
            END IF;
        END IF;
    END LOOP;
    IF cardinality(v_new) > 0 AND shardflake.adds_checks() THEN
        PERFORM shardflake.add_check(c.target, c.column_name, c.shard_count)
           FROM shardflake.checks(shard) c WHERE c.target = ANY (v_new) AND NOT c.present;
    END IF;
    RETURN cardinality(v_new);
END
$$;

COMMENT ON FUNCTION shardflake.complete_tables(shard integer) IS 'Gives the tables of a shard what they lack: a sequence and DEFAULT for an id (a bigint that is the whole primary key and filled by nothing else), a fence, and, if they are new, the checks that keep ids and uids of other shards out. Returns how many tables were new. Errors: 42P16 for a table without a primary key that replication can go by, and for one with a parent or child outside the shard';

CREATE FUNCTION shardflake.compose_id(ticks bigint, shard integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((ticks + ((ticks >> 10) * 8387584)) + (shard * 1024));

COMMENT ON FUNCTION shardflake.compose_id(ticks bigint, shard integer) IS 'The id of a tick in a shard: milliseconds << 23 | shard << 10 | count, where ticks = milliseconds * 1024 + count. Checks nothing';

CREATE FUNCTION shardflake.create_id_sequence(schema_name text, sequence_name text) RETURNS regclass
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * MAXVALUE is 2^50 - 1 (milliseconds 2^40 - 1, count 1023), so that nextval itself refuses an id that would
 * reach the sign bit. Below 0 is where stop_ids puts a sequence. CACHE 1, or a session would keep ticks of a past time.
 */
DECLARE
    v_sequence regclass;
    v_owner name := ( -- not by ::regprocedure, which needs USAGE on the schema
        SELECT p.proowner::regrole::name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE p.proname = 'advance_sequence' AND n.nspname = 'shardflake_internal');
BEGIN
    EXECUTE format('CREATE SEQUENCE %I.%I AS bigint MINVALUE -1125899906842624 MAXVALUE 1125899906842623 START 0 CACHE 1 NO CYCLE', schema_name, sequence_name);
    v_sequence := format('%I.%I', schema_name, sequence_name)::regclass;
    IF v_owner <> current_user THEN -- advance_sequence works as its owner
        EXECUTE format('GRANT USAGE, UPDATE ON SEQUENCE %s TO %I', v_sequence, v_owner);
    END IF;
    RETURN v_sequence;
END
$$;

COMMENT ON FUNCTION shardflake.create_id_sequence(schema_name text, sequence_name text) IS 'Internal: a sequence that holds ticks';

CREATE FUNCTION shardflake.create_shard(shard integer) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * The wrappers are LANGUAGE sql with a parsed body: PostgreSQL inlines them, their names are resolved
 * here and now, and DROP FUNCTION refuses to take shardflake.draw_id from under them.
 */
DECLARE
    v_schema text;
    v_sequence regclass;
BEGIN
    PERFORM shardflake.check_shard(shard);
    v_schema := shardflake.shard_schema(shard);
    IF to_regnamespace(v_schema) IS NOT NULL THEN
        RAISE EXCEPTION 'shard % is on this server already: schema % exists', shard, v_schema
            USING ERRCODE = 'duplicate_schema',
                  HINT = format('To start it afresh, drop it first: SELECT shardflake.drop_shard(%s).', shard);
    END IF;

    EXECUTE format('CREATE SCHEMA %I', v_schema);
    -- What is remembered is of one that was here before.
    IF has_table_privilege('shardflake.placement', 'DELETE') THEN
        DELETE FROM shardflake.placement p WHERE p.shard = create_shard.shard;
    END IF;
    v_sequence := shardflake.create_id_sequence(v_schema, 'id_seq');
    EXECUTE format(
        'CREATE FUNCTION %I.next_id(sequence regclass) RETURNS bigint LANGUAGE sql VOLATILE PARALLEL UNSAFE
         RETURN shardflake.draw_id(%s, sequence)', v_schema, shard);
    EXECUTE format(
        'CREATE FUNCTION %I.next_id() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL UNSAFE
         RETURN shardflake.draw_id(%s, %L::regclass)', v_schema, shard, v_sequence);
    EXECUTE format('COMMENT ON SCHEMA %I IS %L', v_schema, format('Shardflake: logical shard %s', shard));
    RETURN v_schema;
END
$$;

COMMENT ON FUNCTION shardflake.create_shard(shard integer) IS 'Creates the schema of a shard (0..8191) with its own sequence id_seq and its next_id functions, and returns the schema''s name. Errors: 22023 for a shard out of range, 42P06 when it exists';

CREATE FUNCTION shardflake_internal.advance_sequence(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * The cold path: brings a sequence that lags the clock up to it and returns the tick drawn, or NULL when it lags so
 * little, or moved meanwhile, that the caller is to draw with nextval.
 *
 * setval needs UPDATE on the sequence, which would let a role move it back; so this one function runs as its owner. It
 * only ever moves a sequence forward, and not beyond the clock. Whether the caller may draw is asked by draw_cold, and nobody gets
 * here without it, since nobody may use the schema that this function is in.
 *
 * move_to_clock takes and releases the lock that this needs. What could fail in between is asked here before: the first look locks
 * the sequence against changes, and pg_current_xact_id fails where nothing may be written. Who finds the lock taken, and the
 * sequence still behind, waits in a subtransaction that is always rolled back: neither a cancel, nor a timeout,
 * nor an error can leave that lock held.
 *
 * Why setval cannot take back a number that another session draws meanwhile. Numbers are drawn without this lock: by next_id where the
 * sequence keeps up with the clock, and by whoever calls nextval itself, which USAGE allows, as often as he likes. So
 * move_to_clock sets the sequence twice. The first setval puts it below 0, where no number is an id and next_id
 * comes here and waits. What it took back is what was drawn since the look that it is computed from. Only now is it known how long
 * that took, and the second setval goes beyond the position looked at by more numbers than a server can give in that time
 * (draws_now). From one to the other no id is made, however long it takes.
 *
 * Where all numbers are drawn by next_id, time need not be measured. Let A read the clock (now), take the lock
 * and then find last < now - hot_lag - S, S being the most sessions the server allows. Whoever begins to look after that may draw
 * without the lock only when last >= now - hot_lag, that is after more than S further draws. Until then only
 * sessions that had looked before A can draw, once each: S at most. setval goes hot_lag + S further than the last one.
 * A sequence that lags by less (hot_lag to hot_lag + S) is drawn from with nextval, once for each look under the lock.
 *
 * Below 0 and not called, as setval leaves it, is "being moved"; below 0 and called is "stopped", see stop_ids. A number
 * that is drawn in between makes one look like the other, so what counts is what is found under the lock. A server
 * that crashes in between leaves the sequence as it was, less 2^50, and the next who has the lock adds that.
 */
DECLARE
    c_last_tick CONSTANT bigint := 1125899906842623; -- 2^50 - 1: milliseconds 2^40 - 1, count 1023
    c_busy CONSTANT bigint := -1;
    c_stopped CONSTANT bigint := -2;
    v_now bigint := shardflake.now_ticks();
    v_last bigint;
    v_kind record;
    v_lock bigint := shardflake.lock_key(sequence);
    v_margin bigint := shardflake.hot_lag() -- hot_lag + S
        + current_setting('max_connections')::integer
        + current_setting('max_worker_processes')::integer
        + current_setting('max_wal_senders')::integer;
    v_transaction xid8;
    v_ticks bigint;
BEGIN
    -- With search_path pinned as it is here, the text of a regclass always names the schema.
    IF (shardflake.is_shard(shard) AND starts_with(sequence::text, shardflake.shard_schema(shard) || '.')) IS NOT TRUE THEN
        PERFORM shardflake.refuse_draw(shard, sequence, NULL);
    END IF;
    v_last := pg_sequence_last_value(sequence);
    v_kind := pg_sequence_parameters(sequence::oid);
    IF (v_kind.minimum_value = -1125899906842624 AND v_kind.maximum_value = c_last_tick -- as create_id_sequence makes it
        AND has_sequence_privilege(sequence, 'UPDATE')
        AND v_now BETWEEN 0 AND c_last_tick
        AND COALESCE(v_last, 0) < c_last_tick) IS NOT TRUE
    THEN
        PERFORM shardflake.refuse_draw(shard, sequence, v_last);
    END IF;
    IF current_setting('transaction_read_only')::boolean THEN
        IF v_last < 0 THEN
            PERFORM shardflake.refuse_draw(shard, sequence, v_last);
        END IF;
        RETURN NULL; -- nextval says that this cannot be
    END IF;
    v_transaction := pg_current_xact_id();
    v_ticks := shardflake.move_to_clock(sequence, v_now, v_margin, (v_last IS NULL)::integer, v_lock);
    IF v_ticks = c_busy AND shardflake.is_hot(pg_sequence_last_value(sequence)) IS NOT TRUE THEN
        BEGIN
            PERFORM shardflake.await_lock(sequence);
            v_ticks := shardflake.move_to_clock(sequence, shardflake.now_ticks(), v_margin, (v_last IS NULL)::integer, v_lock);
            RAISE EXCEPTION USING ERRCODE = 'SF009', MESSAGE = 'rolls back to release the lock';
        EXCEPTION
            WHEN SQLSTATE 'SF009' THEN
                NULL;
            WHEN lock_not_available THEN
                IF pg_sequence_last_value(sequence) < 0 THEN -- whoever fences has it
                    v_ticks := c_stopped;
                ELSE
                    PERFORM shardflake.refuse_wait(sequence);
                END IF;
        END;
    END IF;
    IF v_ticks = c_stopped THEN
        PERFORM shardflake.refuse_draw(shard, sequence, -1);
    END IF;
    RETURN NULLIF(v_ticks, c_busy);
END
$$;

COMMENT ON FUNCTION shardflake_internal.advance_sequence(shard integer, sequence regclass) IS 'Internal: moves a sequence that lags the clock forward to it and returns the tick drawn, or NULL when nextval is to draw';

CREATE FUNCTION shardflake.draw_cold(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE sql
    RETURN COALESCE(CASE WHEN (has_sequence_privilege((sequence)::oid, 'USAGE, UPDATE'::text) IS NOT FALSE) THEN shardflake_internal.advance_sequence(shard, sequence) ELSE NULL::bigint END, nextval(sequence));

COMMENT ON FUNCTION shardflake.draw_cold(shard integer, sequence regclass) IS 'Internal: the next tick of a sequence that lags the clock';

CREATE FUNCTION shardflake.draws_now() RETURNS bigint
    LANGUAGE sql PARALLEL SAFE
    RETURN ((date_part('epoch'::text, clock_timestamp()) * (20000000)::double precision))::bigint;

COMMENT ON FUNCTION shardflake.draws_now() IS 'Internal: the clock in numbers that a sequence could have given: the difference of two readings is more than it gave in between, whoever drew';

CREATE FUNCTION shardflake.drop_shard(shard integer, force boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_schema text;
    v_table record;
    v_has_rows boolean;
BEGIN
    PERFORM shardflake.check_shard(shard);
    v_schema := shardflake.shard_schema(shard);
    IF to_regnamespace(v_schema) IS NULL THEN
        RAISE EXCEPTION 'shard % is not on this server: there is no schema %', shard, v_schema
            USING ERRCODE = 'invalid_schema_name',
                  HINT = 'Look for it with: SELECT nspname FROM pg_namespace WHERE nspname LIKE ''shard\_%''.';
    END IF;
    IF NOT force THEN
        FOR v_table IN
            SELECT oid::regclass AS target, relkind FROM pg_class
             WHERE relnamespace = v_schema::regnamespace AND relkind IN ('r', 'p', 'm') AND relispopulated ORDER BY relname
        LOOP
            IF v_table.relkind <> 'm' THEN -- which has no rows of its own, and cannot be locked
                EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', v_table.target);
            END IF;
            EXECUTE format('SELECT EXISTS (SELECT FROM %s)', v_table.target) INTO v_has_rows;
            IF v_has_rows THEN
                RAISE EXCEPTION 'shard % is not empty: table % has rows', shard, v_table.target
                    USING ERRCODE = 'dependent_objects_still_exist',
                          HINT = format('To drop the shard with all its rows: SELECT shardflake.drop_shard(%s, force => true).', shard);
            END IF;
        END LOOP;
    END IF;
    EXECUTE format('DROP SCHEMA %I CASCADE', v_schema);
    -- Its history goes with it, or a shard created anew would be taken to have had these changesets.
    IF has_table_privilege(to_regclass('shardflake_deploy.databasechangelog'), 'DELETE') THEN
        EXECUTE format('DELETE FROM shardflake_deploy.databasechangelog WHERE starts_with(filename, %L)', v_schema || '/');
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.drop_shard(shard integer, force boolean) IS 'Drops the schema of a shard and everything in it, and the lines of its history; refuses while a table has rows, unless force is true. Errors: 22023 for a shard out of range, 3F000 when it is not here, 2BP01 when a table has rows';

CREATE FUNCTION shardflake.epoch_ms() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '1735689600000'::bigint;

COMMENT ON FUNCTION shardflake.epoch_ms() IS 'Where the time of an id begins: UTC milliseconds since 1970-01-01. Equals shardflake.layout.epoch_ms';

CREATE FUNCTION shardflake.fence_ids(shard integer, fenced boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * Routers go by an answer of require_open for 1.5 ms, see OpenShards.java. One that was given before the ids were stopped came with the
 * number of an earlier fence. So whoever fences waits 2 ms after this before another server may open the shard: also where the ids were
 * stopped before, since that may be left of an attempt that came no further.
 *
 * The number is random, so that none comes back with a crash, a failover or a restore.
 */
BEGIN
    IF fenced THEN
        PERFORM shardflake.stop_ids(s.target) FROM shardflake.sequences(shard) s WHERE s.makes_ids;
        PERFORM setval('shardflake.last_fence', hashtextextended(gen_random_uuid()::text, 0));
    ELSE
        PERFORM shardflake.start_ids(s.target) FROM shardflake.sequences(shard) s WHERE s.makes_ids;
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.fence_ids(shard integer, fenced boolean) IS 'Internal: stops the ids of a shard, which routers know 2 ms later, or lets them go on. Not undone by a rollback';

CREATE FUNCTION shardflake.fence_shard(shard integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_tables integer := shardflake.fence_tables(shard, true);
BEGIN
    -- After what may fail, since it is not undone by a rollback.
    PERFORM shardflake.fence_ids(shard, true);
    PERFORM pg_sleep(0.002); -- until no router takes it to be open: see fence_ids
    RETURN v_tables;
END
$$;

COMMENT ON FUNCTION shardflake.fence_shard(shard integer) IS 'Makes this server refuse writes to a shard (0..8191), from everybody but logical replication, and give no more ids for it; returns how many tables it has. Waits for transactions that have written to them or drawn ids, so set lock_timeout. Errors: 3F000 when the shard is not here, 55000 for a table without a fence; who writes then gets SF001. A rollback does not let the ids go on: unfence_shard does';

CREATE FUNCTION shardflake.fence_tables(shard integer, fenced boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_table record;
    v_tables integer := 0;
BEGIN
    PERFORM shardflake.check_shard(shard);
    IF to_regnamespace(shardflake.shard_schema(shard)) IS NULL THEN
        RAISE EXCEPTION 'shard % is not on this server: schema % is missing', shard, shardflake.shard_schema(shard)
            USING ERRCODE = 'invalid_schema_name', HINT = 'Look the server of the shard up in the shard map.';
    END IF;
    IF fenced THEN
        PERFORM shardflake.refuse_relatives(shard);
    END IF;
    FOR v_table IN SELECT * FROM shardflake.fences(shard) LOOP
        IF NOT v_table.present THEN
            RAISE EXCEPTION 'table % has no fence', v_table.target
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      HINT = format('Add it first: SELECT shardflake.add_fence(%L).', v_table.target);
        END IF;
        PERFORM shardflake.set_fence(v_table.target, fenced);
        v_tables := v_tables + 1;
    END LOOP;
    RETURN v_tables;
END
$$;

COMMENT ON FUNCTION shardflake.fence_tables(shard integer, fenced boolean) IS 'Internal: puts the fences of all tables of a shard up or down, and returns how many there are';

CREATE FUNCTION shardflake.fence_write() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * Whether the shard is fenced is told by the trigger's argument, not by its being enabled: ENABLE TRIGGER USER, as after a
 * restore, raises no fence. The argument comes with the table's definition and under the table's lock, so no snapshot is too old
 * to see it. A trigger without one is of an earlier library, whose fences were up when they were enabled.
 */
BEGIN
    IF TG_ARGV[0] = 'down' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'shard % takes no writes on this server', right(TG_TABLE_SCHEMA, 4)::integer
        USING ERRCODE = 'SF001',
              DETAIL = format('%s on %I.%I met the fence of its shard.', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME),
              HINT = 'The shard is being moved or has moved: read the shard map again and retry on the server it names.';
END
$$;

COMMENT ON FUNCTION shardflake.fence_write() IS 'Internal: refuses a write to a fenced shard, and lets it pass if the argument says that the fence is down. A trigger, so that it holds for every client and at every isolation level. Error: SF001';

CREATE FUNCTION shardflake.fences(shard integer) RETURNS TABLE(target regclass, present boolean, fenced boolean)
    LANGUAGE sql STABLE ROWS 20 PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    -- By name, so that all who lock a shard's tables do it in one order.
    SELECT c.oid::regclass, t.oid IS NOT NULL, COALESCE(t.tgenabled IN ('O', 'A') AND t.tgargs <> 'down\000', false) -- see fence_write
      FROM shardflake.relations(shard) relation
      JOIN pg_class c ON c.oid = relation
      LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgfoid = 'shardflake.fence_write'::regproc
     WHERE c.relkind IN ('r', 'p')
     ORDER BY c.relname COLLATE "C"
$$;

COMMENT ON FUNCTION shardflake.fences(shard integer) IS 'Internal: the tables of a shard, whether each has a fence, and whether that is up';

CREATE FUNCTION shardflake.hot_lag() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (3072)::bigint;

COMMENT ON FUNCTION shardflake.hot_lag() IS 'How many ticks a sequence may lag the clock and still be drawn from without a lock: 3 ms. See advance_sequence';

CREATE FUNCTION shardflake.id_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ((id & (1023)::bigint))::integer;

COMMENT ON FUNCTION shardflake.id_sequence(id bigint) IS 'The sequence bits of an id: 0..1023';

CREATE FUNCTION shardflake.id_shard(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (((id >> 10) & (8191)::bigint))::integer;

COMMENT ON FUNCTION shardflake.id_shard(id bigint) IS 'The shard an id was made in: 0..8191';

CREATE FUNCTION shardflake.id_timestamp(id bigint) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN to_timestamp((((((id >> 23) & '2199023255551'::bigint) + shardflake.epoch_ms()))::double precision / (1000.0)::double precision));

COMMENT ON FUNCTION shardflake.id_timestamp(id bigint) IS 'When an id was made, in whole milliseconds. All 64 bits count as unsigned, so a foreign id with the top bit set decodes too';

CREATE FUNCTION shardflake.id_to_base32(id bigint) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ'::text, ((((id_to_base32.id >> (5 * digit.digit)) & CASE digit.digit WHEN 12 THEN (15)::bigint ELSE (31)::bigint END))::integer + 1), 1), ''::text ORDER BY digit.digit DESC) AS string_agg FROM generate_series(0, 12) digit(digit));

COMMENT ON FUNCTION shardflake.id_to_base32(id bigint) IS 'An id in Crockford''s base32: always 13 characters, which sort like the id as an unsigned number under COLLATE "C". 11637205501278089 gives 00AAQZ8619XW9';

CREATE FUNCTION shardflake.id_to_public(id bigint, key bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF id < 0 THEN
        RAISE EXCEPTION 'id % is out of range 0..9223372036854775807', id
            USING ERRCODE = 'numeric_value_out_of_range',
                  HINT = 'The public form is of ids that Shardflake makes, which are positive.';
    END IF;
    RETURN shardflake.id_to_base32(shardflake.permute_id(id, key, false));
END
$$;

COMMENT ON FUNCTION shardflake.id_to_public(id bigint, key bytea) IS 'An id for strangers, who see neither time nor shard nor how many there are: 13 characters of base32, to be read with the same key of 16, 24 or 32 bytes. Needs the extension pgcrypto. Errors: 22003 for a negative id, 22023 for another length of key, 42704 without pgcrypto';

CREATE FUNCTION shardflake.id_to_shortcode(id bigint) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (SELECT CASE id_to_shortcode.id WHEN 0 THEN 'A'::text ELSE ltrim(string_agg(substr('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'::text, ((((id_to_shortcode.id >> (6 * digit.digit)) & CASE digit.digit WHEN 10 THEN (15)::bigint ELSE (63)::bigint END))::integer + 1), 1), ''::text ORDER BY digit.digit DESC), 'A'::text) END AS ltrim FROM generate_series(0, 10) digit(digit));

COMMENT ON FUNCTION shardflake.id_to_shortcode(id bigint) IS 'An id as Instagram writes it in addresses: its 6-bit digits, highest first, in the alphabet of base64url, without leading zeros. 908540701891980503 gives ybyPRoQWzX';

CREATE FUNCTION shardflake.is_fenced(shard integer) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT COALESCE(bool_or(fenced), false) FROM shardflake.fences(shard)
$$;

COMMENT ON FUNCTION shardflake.is_fenced(shard integer) IS 'Whether this server refuses writes to any table of a shard (0..8191); false when the shard is not here';

CREATE FUNCTION shardflake.is_hot(last_value bigint) RETURNS boolean
    LANGUAGE sql PARALLEL SAFE
    RETURN ((last_value >= ((shardflake.clock_ms() * 1024) - ((shardflake.epoch_ms() * 1024) + shardflake.hot_lag()))) AND (last_value <= '1125899906841599'::bigint));

COMMENT ON FUNCTION shardflake.is_hot(last_value bigint) IS 'Whether a sequence with this last value keeps up with the clock, so that an id may be drawn with a plain nextval. NULL for a sequence never drawn from';

CREATE FUNCTION shardflake.is_shard(shard integer) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((shard >= 0) AND (shard <= 8191));

COMMENT ON FUNCTION shardflake.is_shard(shard integer) IS 'Whether the number fits the 13 bits of a shard: 0..8191';

CREATE FUNCTION shardflake.is_stopped(ticks bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (ticks < 0);

COMMENT ON FUNCTION shardflake.is_stopped(ticks bigint) IS 'Whether a tick is of a sequence that gives no ids, since its shard is fenced: see stop_ids';

CREATE FUNCTION shardflake.key_hash(key text) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ((('x'::text || encode(substr(sha256(convert_to(key, 'UTF8'::name)), 1, 8), 'hex'::text)))::bit(64))::bigint;

COMMENT ON FUNCTION shardflake.key_hash(key text) IS 'The uid that a text stands for: the first 8 bytes of the SHA-256 of its UTF-8 form, big-endian. Will never change, and equals ShardKey.hash in Java. ''alice'' gives 3159282601090220207';

CREATE FUNCTION shardflake.key_hash(key uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ((('x'::text || encode(substr(sha256(uuid_send(key)), 1, 8), 'hex'::text)))::bit(64))::bigint;

COMMENT ON FUNCTION shardflake.key_hash(key uuid) IS 'The uid that a UUID stands for: the first 8 bytes of the SHA-256 of its 16 bytes, big-endian. Will never change, and equals ShardKey.hash in Java';

CREATE FUNCTION shardflake.library_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 1;

COMMENT ON FUNCTION shardflake.library_version() IS 'The version of the function library, which goes up whenever one of its functions changes: no older program replaces it';

CREATE FUNCTION shardflake.lock_ids(sequence regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM shardflake.await_lock(sequence);
EXCEPTION
    WHEN lock_not_available THEN
        PERFORM shardflake.refuse_wait(sequence);
END
$$;

COMMENT ON FUNCTION shardflake.lock_ids(sequence regclass) IS 'Internal: takes the lock of a sequence until the transaction ends, or says who has it. Error: 55P03';

CREATE FUNCTION shardflake.lock_key(sequence regclass) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((1397115979)::bigint << 32) | ((sequence)::oid)::bigint);

COMMENT ON FUNCTION shardflake.lock_key(sequence regclass) IS 'Internal: the key of the advisory lock for whoever moves a sequence';

CREATE FUNCTION shardflake.mark(stream text) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    -- Microseconds, so that a publisher which lost its latest marks in a failover does not give them out again.
    INSERT INTO shardflake.move_marker AS m (stream, mark, marked_at)
        VALUES (stream, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, clock_timestamp())
        ON CONFLICT (stream) DO UPDATE SET mark = GREATEST(m.mark + 1, excluded.mark), marked_at = clock_timestamp()
        RETURNING mark
$$;

COMMENT ON FUNCTION shardflake.mark(stream text) IS 'Internal: increases the mark of a replication stream and returns it';

CREATE FUNCTION shardflake.max_id(at timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (((LEAST(GREATEST((floor((EXTRACT(epoch FROM (at AT TIME ZONE 'UTC'::text)) * (1000)::numeric)) - (shardflake.epoch_ms())::numeric), ('-1'::integer)::numeric), ('1099511627775'::bigint)::numeric))::bigint << 23) | (8388607)::bigint);

COMMENT ON FUNCTION shardflake.max_id(at timestamp with time zone) IS 'The highest id that the millisecond of this time can have, of any shard: WHERE id BETWEEN shardflake.min_id(a) AND shardflake.max_id(b). Before the epoch it is -1, below every id';

CREATE FUNCTION shardflake.min_id(at timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ((LEAST(GREATEST((floor((EXTRACT(epoch FROM (at AT TIME ZONE 'UTC'::text)) * (1000)::numeric)) - (shardflake.epoch_ms())::numeric), (0)::numeric), ('1099511627775'::bigint)::numeric))::bigint << 23);

COMMENT ON FUNCTION shardflake.min_id(at timestamp with time zone) IS 'The lowest id that the millisecond of this time can have, of any shard: WHERE id >= shardflake.min_id(''2026-01-01 00:00Z''). Times before the epoch or past the last millisecond give the bound of that end';

CREATE FUNCTION shardflake.move_to_clock(sequence regclass, now_ticks bigint, margin bigint, first bigint, lock bigint) RETURNS bigint
    LANGUAGE sql
    RETURN CASE WHEN (NOT pg_try_advisory_lock(lock)) THEN (- (1)::bigint) WHEN (CASE WHEN (pg_sequence_last_value(sequence) IS NULL) THEN CASE WHEN (nextval(sequence) < (0)::bigint) THEN setval(sequence, (currval(sequence) + '1125899906842624'::bigint)) ELSE NULL::bigint END ELSE NULL::bigint END < (0)::bigint) THEN NULL::bigint WHEN (pg_sequence_last_value(sequence) < (0)::bigint) THEN CASE WHEN pg_advisory_unlock(lock) THEN (- (2)::bigint) ELSE NULL::bigint END WHEN (pg_sequence_last_value(sequence) >= (now_ticks - margin)) THEN CASE WHEN pg_advisory_unlock(lock) THEN NULL::bigint ELSE NULL::bigint END WHEN (setval(sequence, ((((pg_sequence_last_value(sequence) + (1)::bigint) - first) & (1023)::bigint) | ((LEAST((GREATEST((((((0)::bigint - shardflake.draws_now()) + setval(sequence, (pg_sequence_last_value(sequence) - '1125899906842624'::bigint), false)) + shardflake.draws_now()) + '1125899906842625'::bigint), now_ticks) + (1023)::bigint), '1125899906842623'::bigint) >> 10) << 10))) IS NULL) THEN CASE WHEN pg_advisory_unlock(lock) THEN NULL::bigint ELSE NULL::bigint END WHEN pg_advisory_unlock(lock) THEN currval(sequence) ELSE NULL::bigint END;

COMMENT ON FUNCTION shardflake.move_to_clock(sequence regclass, now_ticks bigint, margin bigint, first bigint, lock bigint) IS 'Internal: moves a sequence that lags by more than margin forward to now_ticks, with the count going on, and returns the tick drawn; NULL when it lags by less, -1 when another session has the lock, -2 when the sequence is stopped. first is 1 when it was never drawn from. See advance_sequence';

CREATE FUNCTION shardflake.next_id(shard integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_sequence pg_catalog.regclass;
BEGIN
    PERFORM shardflake.check_shard(shard);
    v_sequence := pg_catalog.to_regclass(pg_catalog.concat(shardflake.shard_schema(shard), '.id_seq'));
    IF v_sequence IS NULL THEN
        RAISE EXCEPTION 'shard % is not on this server', shard
            USING ERRCODE = 'invalid_schema_name',
                  HINT = pg_catalog.format('Ask the server that holds it, or create it here: SELECT shardflake.create_shard(%s).', shard);
    END IF;
    RETURN shardflake.next_id(shard, v_sequence);
END
$$;

COMMENT ON FUNCTION shardflake.next_id(shard integer) IS 'A new id from the shard''s own sequence id_seq. Errors: as next_id(shard, sequence), and 3F000 when this server does not hold the shard';

CREATE FUNCTION shardflake.next_id(shard integer, sequence regclass) RETURNS bigint
    LANGUAGE sql
    RETURN shardflake.draw_id(shard, sequence);

COMMENT ON FUNCTION shardflake.next_id(shard integer, sequence regclass) IS 'A new id: 41 bits of milliseconds since the epoch, 13 bits of shard (0..8191), 10 bits of sequence. Never repeats and always increases for one sequence. The sequence must be in the shard''s schema, which is checked when it lags the clock and not for every id; needs USAGE on both. Errors: 22023 for a shard out of range or a sequence of another schema, SF001 when the shard is fenced, SF002 when the clock is outside the time that ids can hold';

CREATE FUNCTION shardflake.next_ids(shard integer, sequence regclass, count integer) RETURNS SETOF bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF count IS NULL OR count OPERATOR(pg_catalog.<) 1 OR count OPERATOR(pg_catalog.>) 100000 THEN
        RAISE EXCEPTION 'count % is out of range 1..100000', COALESCE(count::pg_catalog.text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Call next_ids more than once for more ids.';
    END IF;
    FOR v_drawn IN 1..count LOOP
        RETURN NEXT shardflake.next_id(shard, sequence);
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardflake.next_ids(shard integer, sequence regclass, count integer) IS 'Many new ids, in increasing order; count is 1..100000. Each has the time at which it was drawn. Errors: as next_id, and 22023 for a count out of range';

CREATE FUNCTION shardflake.now_ticks() RETURNS bigint
    LANGUAGE sql PARALLEL SAFE
    RETURN ((shardflake.clock_ms() - shardflake.epoch_ms()) << 10);

COMMENT ON FUNCTION shardflake.now_ticks() IS 'The clock in ticks, 1024 to a millisecond, counted from the epoch';

CREATE FUNCTION shardflake.outside_relatives(shard integer) RETURNS TABLE(target regclass, relative regclass)
    LANGUAGE sql STABLE ROWS 1 PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT c.oid::regclass, o.oid::regclass
      FROM shardflake.relations(shard) relation
      JOIN pg_class c ON c.oid = relation AND c.relkind IN ('r', 'p', 'f')
     CROSS JOIN LATERAL (SELECT inhparent FROM pg_inherits WHERE inhrelid = c.oid
                         UNION ALL
                         SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid) i (relative)
      JOIN pg_class o ON o.oid = i.relative AND o.relnamespace <> c.relnamespace
     ORDER BY c.relname COLLATE "C", o.oid
$$;

COMMENT ON FUNCTION shardflake.outside_relatives(shard integer) IS 'Internal: the tables of a shard that are a partition, parent or child, by partitioning or INHERITS, of a table outside it';

CREATE FUNCTION shardflake.permute_id(id bigint, key bytea, backwards boolean) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    v_encrypt text;
    v_left bigint := id >> 32;
    v_right bigint := id & 4294967295;
    v_block bytea;
    v_round integer;
    v_add bigint;
    v_mask bigint;
BEGIN
    /*
     * FF1 of NIST SP 800-38G, algorithms 7 and 8, for radix 2, 63 digits and no tweak: ten rounds of a Feistel network over
     * the upper 31 and the lower 32 bits. Each adds to one half, modulo its size, a number that AES makes of the other.
     *
     * In the standard's words u = 31, v = 32, b = 4 and d = 8. The bytes before the round's number are P, then the zeros
     * that fill Q up to a block. The number is the first 8 bytes of the last block of CBC from a zero IV, of which the
     * addition needs the lower 4. Going backwards, the rounds come in reverse and subtract.
     *
     * pgcrypto is called by a text made here, for it may be in any schema, or not installed when this function is deployed.
     * It takes keys of any length, and fills them up; AES does not, so that is refused.
     */
    IF octet_length(key) NOT IN (16, 24, 32) THEN
        RAISE EXCEPTION 'key has % bytes instead of 16, 24 or 32', octet_length(key)
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Make one with: openssl rand -hex 32. In SQL it is decode(''...'', ''hex'').';
    END IF;
    SELECT format('SELECT %I.encrypt($1, $2, ''aes-cbc/pad:none'')', n.nspname) INTO v_encrypt
      FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     WHERE e.extname = 'pgcrypto';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'public ids need the extension pgcrypto, which database % does not have', current_database()
            USING ERRCODE = 'undefined_object',
                  HINT = 'CREATE EXTENSION pgcrypto; it comes with PostgreSQL, and CREATE on the database is enough to install it.';
    END IF;

    FOR v_step IN 0..9 LOOP
        v_round := CASE WHEN backwards THEN 9 - v_step ELSE v_step END;
        v_mask := CASE v_round % 2 WHEN 0 THEN 2147483647 ELSE 4294967295 END;
        v_block := '\x0102010000020a1f0000003f00000000' || '\x0000000000000000000000'::bytea || substr(int4send(v_round), 4)
            || substr(int8send(CASE WHEN backwards THEN v_left ELSE v_right END), 5);
        EXECUTE v_encrypt INTO v_block USING v_block, key;
        v_add := ('x' || encode(substr(v_block, 21, 4), 'hex'))::bit(32)::bigint;
        IF backwards THEN
            SELECT v_right - v_add & v_mask, v_left INTO v_left, v_right;
        ELSE
            SELECT v_right, v_left + v_add & v_mask INTO v_left, v_right;
        END IF;
    END LOOP;
    RETURN v_left << 32 | v_right;
END
$_$;

COMMENT ON FUNCTION shardflake.permute_id(id bigint, key bytea, backwards boolean) IS 'Internal: a permutation of the numbers below 2^63 under an AES key: FF1 of NIST SP 800-38G. Needs pgcrypto';

CREATE FUNCTION shardflake.public_to_id(public_id text, key bytea) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_permuted bigint := shardflake.base32_to_id(public_id);
BEGIN
    IF v_permuted < 0 THEN
        RAISE EXCEPTION '% is not a public id: it is out of range 0000000000000..7ZZZZZZZZZZZZ', quote_literal(public_id)
            USING ERRCODE = 'numeric_value_out_of_range',
                  HINT = 'Public ids are below 2^63, so that the first character is 0 to 7.';
    END IF;
    RETURN shardflake.permute_id(v_permuted, key, true);
END
$$;

COMMENT ON FUNCTION shardflake.public_to_id(public_id text, key bytea) IS 'The id whose public form this is, under the same key. Every well-formed text gives some id, so look whether it exists. Needs the extension pgcrypto. Errors: as base32_to_id, and 22003 above 63 bits, 22023 for a key of another length than 16, 24 or 32 bytes, 42704 without pgcrypto';

CREATE FUNCTION shardflake.record_placement(shard integer, epoch bigint, here boolean) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    INSERT INTO shardflake.placement (shard, epoch, here) VALUES (record_placement.shard, record_placement.epoch, record_placement.here)
        ON CONFLICT (shard) DO UPDATE SET epoch = excluded.epoch, here = excluded.here, recorded_at = clock_timestamp()
$$;

COMMENT ON FUNCTION shardflake.record_placement(shard integer, epoch bigint, here boolean) IS 'Internal: keeps with which epoch of the shard map this server got a shard, or gave it up. Part of the transaction that opens or closes it';

CREATE FUNCTION shardflake.refuse_draw(shard integer, sequence regclass, last bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * Says why by what the caller has seen, and looks at nothing again that may have changed since.
 */
DECLARE
    c_last_ms CONSTANT bigint := 1099511627775; -- 2^40 - 1: one more would be the sign bit
    v_clock_ms bigint := shardflake.clock_ms();
    v_kind record;
BEGIN
    PERFORM shardflake.check_shard(shard);
    IF starts_with(sequence::text, shardflake.shard_schema(shard) || '.') IS NOT TRUE THEN
        RAISE EXCEPTION 'sequence % is not in schema %', COALESCE(sequence::text, 'NULL'), shardflake.shard_schema(shard)
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = format('Ids of shard %s are drawn from a sequence of its own schema.', shard);
    END IF;
    v_kind := pg_sequence_parameters(sequence::oid);
    IF v_kind.minimum_value <> -1125899906842624 OR v_kind.maximum_value <> 1125899906842623 THEN
        RAISE EXCEPTION 'sequence % is not one that ids are made from', sequence
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Have shardflake.add_id_sequence make it: MINVALUE -1125899906842624 MAXVALUE 1125899906842623.';
    END IF;
    IF NOT has_sequence_privilege(sequence, 'UPDATE') THEN
        RAISE EXCEPTION 'role %, which owns the function library, may not move sequence %', current_user, sequence
            USING ERRCODE = 'insufficient_privilege',
                  HINT = format('GRANT USAGE, UPDATE ON SEQUENCE %s TO %I;', sequence, current_user);
    END IF;
    IF last < 0 THEN -- see stop_ids
        RAISE EXCEPTION 'shard % makes no ids on this server', shard
            USING ERRCODE = 'SF001',
                  HINT = 'The shard is being moved or has moved: read the shard map again and retry on the server it names.';
    END IF;
    IF v_clock_ms - shardflake.epoch_ms() BETWEEN 0 AND c_last_ms THEN
        RAISE EXCEPTION 'sequence % has reached its last id', sequence
            USING ERRCODE = 'SF002',
                  HINT = 'The clock of this server was once far ahead, or this id layout has run out for its epoch.';
    END IF;
    RAISE EXCEPTION 'the clock says % UTC, but ids have times from % to % UTC',
            to_timestamp(v_clock_ms / 1000.0) AT TIME ZONE 'UTC',
            to_timestamp(shardflake.epoch_ms() / 1000.0) AT TIME ZONE 'UTC',
            to_timestamp((shardflake.epoch_ms() + c_last_ms) / 1000.0) AT TIME ZONE 'UTC'
        USING ERRCODE = 'SF002',
              HINT = 'Set the clock of this server right. If it is right, this id layout has run out for its epoch.';
END
$$;

COMMENT ON FUNCTION shardflake.refuse_draw(shard integer, sequence regclass, last bigint) IS 'Internal: raises the reason why advance_sequence cannot draw';

CREATE FUNCTION shardflake.refuse_layout_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'the id layout of this database is recorded once and cannot change: every id made so far depends on it'
        USING ERRCODE = 'SF003',
              HINT = 'To use another epoch, deploy Shardflake into a database that has made no ids.';
END
$$;

CREATE FUNCTION shardflake.refuse_relatives(shard integer) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_table record;
BEGIN
    SELECT * INTO v_table FROM shardflake.outside_relatives(shard) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'table % belongs together with table %, which is not in the schema of shard %', v_table.target, v_table.relative, shard
            USING ERRCODE = 'invalid_table_definition',
                  DETAIL = 'A write to the one reaches the rows of the other, where a fence of its own does not see it.',
                  HINT = 'Take them apart, with ALTER TABLE ... NO INHERIT or ALTER TABLE ... DETACH PARTITION, or bring both into the shard''s schema.';
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.refuse_relatives(shard integer) IS 'Internal: raises an error for a table of a shard that a write outside the shard would reach. Error: 42P16';

CREATE FUNCTION shardflake.refuse_wait(sequence regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_holders text;
BEGIN
    SELECT string_agg(format('%s of %s', l.pid, a.usename), ', ' ORDER BY l.pid) INTO v_holders
      FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND (l.classid::bigint << 32 | l.objid::bigint) = shardflake.lock_key(sequence);
    RAISE EXCEPTION 'the lock of sequence % was not to be had in time', sequence
        USING ERRCODE = 'lock_not_available',
              DETAIL = format('Held by process %s.', COALESCE(v_holders, 'none any more')),
              HINT = 'Shardflake holds it for microseconds, and while it fences a shard. If it goes on: SELECT pg_terminate_backend of that process.';
END
$$;

COMMENT ON FUNCTION shardflake.refuse_wait(sequence regclass) IS 'Internal: raises the reason why the lock of a sequence was not to be had, with its holder. Error: 55P03';

CREATE FUNCTION shardflake.refuse_work(sequence regclass) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    v_schema name := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = sequence AND relkind = 'S' AND relname = 'id_seq');
BEGIN
    IF v_schema !~ '^shard_[0-9]{4}$' IS NOT FALSE THEN
        RAISE EXCEPTION '% is not the sequence id_seq of a shard', COALESCE(sequence::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Give the sequence that shardflake.create_shard made, shard_0007.id_seq for instance.';
    END IF;
    IF pg_sequence_last_value(sequence) < 0 THEN -- see stop_ids
        RAISE EXCEPTION 'shard % is fenced on this server', right(v_schema, 4)::integer
            USING ERRCODE = 'SF001',
                  HINT = 'The shard is being moved or has moved: read the shard map again and retry on the server it names.';
    END IF;
    RETURN pg_sequence_last_value('shardflake.last_fence');
END
$_$;

COMMENT ON FUNCTION shardflake.refuse_work(sequence regclass) IS 'Internal: raises SF001 if a shard is fenced, also for a role that may not look at the sequence, and tells nothing else of it; returns what require_open does';

CREATE FUNCTION shardflake.relations(shard integer) RETURNS SETOF regclass
    LANGUAGE sql STABLE ROWS 20 PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    -- By what depends on the schema: for that there is an index, and none on the schema in pg_class, where a server
    -- with thousands of shards has a hundred thousand rows.
    SELECT objid::regclass
      FROM pg_depend
     WHERE refclassid = 'pg_namespace'::regclass AND refobjid = to_regnamespace(shardflake.shard_schema(shard))
       AND classid = 'pg_class'::regclass AND objsubid = 0
$$;

COMMENT ON FUNCTION shardflake.relations(shard integer) IS 'Internal: the tables, views and sequences of a shard, in no order';

CREATE SEQUENCE shardflake.last_fence
    START WITH -9223372036854775808
    INCREMENT BY 1
    MINVALUE -9223372036854775808
    NO MAXVALUE
    CACHE 1;

COMMENT ON SEQUENCE shardflake.last_fence IS 'The number of the latest fence on this server, a random one. A sequence, so that it is seen at once, whatever the snapshot';

CREATE FUNCTION shardflake.require_open(sequence regclass) RETURNS bigint
    LANGUAGE sql
    RETURN CASE WHEN (NOT has_sequence_privilege((sequence)::oid, 'USAGE'::text)) THEN shardflake.refuse_work(sequence) WHEN (NOT has_sequence_privilege(('shardflake.last_fence'::regclass)::oid, 'SELECT'::text)) THEN shardflake.refuse_work(sequence) WHEN (pg_sequence_last_value(sequence) < (0)::bigint) THEN shardflake.refuse_work(sequence) ELSE pg_sequence_last_value('shardflake.last_fence'::regclass) END;

COMMENT ON FUNCTION shardflake.require_open(sequence regclass) IS 'Raises an error unless the shard of a sequence id_seq (shard_0007.id_seq) is open on this server, for transactions that only read or lock: writes meet the fence by themselves. Returns the number of the latest fence here, of any shard: while that stays, an open shard is open. Errors: SF001 when the shard is fenced here, 3F000 or 42P01 when it is not here';

CREATE FUNCTION shardflake.sequence_positions(shard integer) RETURNS TABLE(sequence_name name, last_value bigint)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
/*
 * The fence stops the sequences of ids, and no others: nextval of those reads no table, so they may be drawn from until everybody
 * knows the new server. Hence a margin. Where it does not fit, an error: the last numbers are not given up, and none is given twice.
 * One at its end gives no more in either place. One that cycles repeats its numbers in any case, and goes round.
 */
DECLARE
    v_sequence record;
BEGIN
    RETURN QUERY
    SELECT n.sequence_name, pg_sequence_last_value(n.target) + CASE WHEN pg_sequence_last_value(n.target) < 0 THEN 1125899906842624 ELSE 0 END
      FROM shardflake.sequences(shard) n
     WHERE n.makes_ids AND pg_sequence_last_value(n.target) IS NOT NULL;
    FOR v_sequence IN
        SELECT r.*, s.seqincrement AS increment, s.seqcycle AS cycles, CASE WHEN s.seqincrement > 0 THEN s.seqmin ELSE s.seqmax END AS begins_at,
               div(r.ends_at::numeric - CASE WHEN s.seqincrement > 0 THEN s.seqmin ELSE s.seqmax END, s.seqincrement) + 1 AS numbers
          FROM shardflake.sequence_room(shard) r JOIN pg_sequence s ON s.seqrelid = r.target
    LOOP
        sequence_name := v_sequence.sequence_name;
        last_value := v_sequence.last_value;
        IF v_sequence.numbers_left >= v_sequence.margin THEN
            last_value := last_value + (v_sequence.margin - CASE WHEN v_sequence.is_called THEN 0 ELSE 1 END)::numeric * v_sequence.increment;
        ELSIF v_sequence.cycles AND v_sequence.numbers > v_sequence.margin THEN
            last_value := v_sequence.begins_at + (v_sequence.margin - v_sequence.numbers_left - 1) * v_sequence.increment;
        ELSIF v_sequence.numbers_left > 0 AND NOT v_sequence.cycles THEN
            RAISE EXCEPTION 'sequence % has % numbers left: it is at % and ends at %',
                    v_sequence.target, v_sequence.numbers_left, v_sequence.last_value, v_sequence.ends_at
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      DETAIL = format('A move leaves out %s, for sessions that draw from it while the shard changes server.', v_sequence.margin),
                      HINT = 'Give it room on all shards: a wider type (ALTER TABLE ... ALTER COLUMN ... TYPE bigint for an identity column, else ALTER SEQUENCE ... AS bigint), or another MAXVALUE or MINVALUE.';
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardflake.sequence_positions(shard integer) IS 'How far the sequences of a shard have come, for set_sequence_positions on another server: the last tick of those that make ids, and of others the value 32 times their cache further on. Error: 55000 for one that has not so many numbers left';

CREATE FUNCTION shardflake.sequence_room(shard integer) RETURNS TABLE(target regclass, sequence_name name, last_value bigint, is_called boolean, ends_at bigint, numbers_left numeric, margin bigint)
    LANGUAGE plpgsql ROWS 20
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
/*
 * The row of a sequence says more than pg_sequence_last_value: where one begins that was never drawn from, RESTART and setval among
 * others having set it.
 */
DECLARE
    v_increment bigint;
BEGIN
    FOR target, sequence_name, v_increment, ends_at, margin IN
        SELECT n.target, n.sequence_name, s.seqincrement, CASE WHEN s.seqincrement > 0 THEN s.seqmax ELSE s.seqmin END, 32 * LEAST(s.seqcache, 1000000000)
          FROM shardflake.sequences(shard) n JOIN pg_sequence s ON s.seqrelid = n.target
         WHERE NOT n.makes_ids
    LOOP
        EXECUTE format('SELECT last_value, is_called FROM %s', target) INTO last_value, is_called;
        numbers_left := div(ends_at::numeric - last_value, v_increment) + CASE WHEN is_called THEN 0 ELSE 1 END;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardflake.sequence_room(shard integer) IS 'Internal: the sequences of a shard that make no ids, how many numbers each has left, and how many a move leaves out';

CREATE FUNCTION shardflake.sequences(shard integer) RETURNS TABLE(target regclass, sequence_name name, makes_ids boolean)
    LANGUAGE sql STABLE ROWS 20 PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    -- By name, so that all who lock a shard's sequences do it in one order.
    SELECT c.oid::regclass, c.relname, s.seqmin = -1125899906842624 AND s.seqmax = 1125899906842623 -- as create_id_sequence makes them
      FROM shardflake.relations(shard) relation
      JOIN pg_class c ON c.oid = relation
      JOIN pg_sequence s ON s.seqrelid = c.oid
     ORDER BY c.relname COLLATE "C"
$$;

COMMENT ON FUNCTION shardflake.sequences(shard integer) IS 'Internal: the sequences of a shard, and whether each holds ticks for ids';

CREATE FUNCTION shardflake.set_fence(table_name regclass, fenced boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * To replace a trigger takes the lock that enabling takes, and enables it: for all but logical replication. While the fence is down
 * the trigger is disabled too, and costs nothing.
 */
BEGIN
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER shardflake_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s
         FOR EACH STATEMENT EXECUTE FUNCTION shardflake.fence_write(%L)', table_name, CASE WHEN fenced THEN 'up' ELSE 'down' END);
    IF NOT fenced THEN
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER shardflake_fence', table_name);
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.set_fence(table_name regclass, fenced boolean) IS 'Internal: puts the fence of a table up or down, and makes it where there is none';

CREATE FUNCTION shardflake.set_sequence_positions(shard integer, sequence_names name[], last_values bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_sequence record;
BEGIN
    PERFORM shardflake.check_shard(shard);
    FOR v_sequence IN
        SELECT n.target, n.makes_ids, p.sequence_name AS name, p.last_value, pg_sequence_last_value(n.target) AS rests_at,
               s.seqincrement > 0 AS goes_up, s.seqcycle AS cycles
          FROM unnest(sequence_names, last_values) p (sequence_name, last_value)
          LEFT JOIN shardflake.sequences(shard) n ON n.sequence_name = p.sequence_name
          LEFT JOIN pg_sequence s ON s.seqrelid = n.target
    LOOP
        IF v_sequence.target IS NULL THEN
            RAISE EXCEPTION 'shard % has no sequence % on this server', shard, v_sequence.name
                USING ERRCODE = 'undefined_table',
                      HINT = 'Deploy the same schema on both servers.';
        END IF;
        IF NOT v_sequence.makes_ids THEN
            PERFORM setval(v_sequence.target, CASE WHEN v_sequence.cycles THEN v_sequence.last_value
                WHEN v_sequence.goes_up THEN GREATEST(v_sequence.rests_at, v_sequence.last_value)
                ELSE LEAST(v_sequence.rests_at, v_sequence.last_value) END);
        ELSIF v_sequence.rests_at < 0 IS NOT TRUE THEN
            RAISE EXCEPTION 'shard % makes ids on this server', shard
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      HINT = format('Fence it first: SELECT shardflake.fence_shard(%s).', shard);
        ELSE
            PERFORM setval(v_sequence.target, GREATEST(v_sequence.rests_at, v_sequence.last_value - 1125899906842624)); -- see stop_ids
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardflake.set_sequence_positions(shard integer, sequence_names name[], last_values bigint[]) IS 'Makes the sequences of a fenced shard go on behind these values when it is unfenced; none is set back but one that cycles. Errors: 42P01 for a sequence that is not here, 55000 when the shard is not fenced';

CREATE FUNCTION shardflake.shard_schema(shard integer) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ('shard_'::text || lpad((shard)::text, 4, '0'::text));

COMMENT ON FUNCTION shardflake.shard_schema(shard integer) IS 'The name of a shard''s schema: shard_0007 for shard 7';

CREATE FUNCTION shardflake.shortcode_to_id(shortcode text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    -- "C", since not every collation can be searched in.
    v_digits text := shortcode COLLATE "C";
    v_digit integer;
    v_id bigint := 0;
BEGIN
    IF length(v_digits) NOT BETWEEN 1 AND 11 THEN
        RAISE EXCEPTION '% is not a shortcode: it has % characters instead of 1 to 11', quote_literal(left(shortcode, 40)), length(shortcode)
            USING ERRCODE = 'invalid_text_representation',
                  HINT = 'A shortcode has 6 bits in each character, and an id 64 bits.';
    END IF;
    FOR v_place IN 1..length(v_digits) LOOP
        v_digit := strpos('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_' COLLATE "C", substr(v_digits, v_place, 1)) - 1;
        IF v_digit < 0 THEN
            RAISE EXCEPTION '% is not a shortcode: character % is not one of its digits', quote_literal(shortcode), v_place
                USING ERRCODE = 'invalid_text_representation',
                      HINT = 'The digits are A-Z, a-z, 0-9, - and _.';
        END IF;
        v_id := v_id << 6 | v_digit;
    END LOOP;
    IF length(v_digits) = 11 AND left(v_digits, 1) !~ '[A-P]' THEN
        RAISE EXCEPTION '% is not a shortcode: it is out of range A..P__________', quote_literal(shortcode)
            USING ERRCODE = 'numeric_value_out_of_range',
                  HINT = 'An id has 64 bits.';
    END IF;
    IF left(v_digits, 1) = 'A' AND v_digits <> 'A' THEN
        RAISE EXCEPTION '% is not a shortcode: it begins with A, a zero', quote_literal(shortcode)
            USING ERRCODE = 'invalid_text_representation',
                  HINT = 'Leading zeros are left out, so that an id has one shortcode only.';
    END IF;
    RETURN v_id;
END
$$;

COMMENT ON FUNCTION shardflake.shortcode_to_id(shortcode text) IS 'The id that a shortcode stands for: the reverse of id_to_shortcode. Errors: 22P02 for a wrong length or character, or a leading zero; 22003 above 64 bits';

CREATE FUNCTION shardflake.start_ids(sequence regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    c_stopped CONSTANT bigint := -1125899906842624; -- -2^50
    v_last bigint;
BEGIN
    PERFORM shardflake.lock_ids(sequence);
    v_last := pg_sequence_last_value(sequence);
    IF v_last < 0 THEN
        PERFORM setval(sequence, v_last - c_stopped);
    END IF;
END
$$;

COMMENT ON FUNCTION shardflake.start_ids(sequence regclass) IS 'Internal: lets a sequence that was stopped go on where it was. Not undone by a rollback';

CREATE FUNCTION shardflake.stop_ids(sequence regclass) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
/*
 * A stopped sequence is below 0 by 2^50, and next_id makes no id of what nextval gives there. Like any setval this is not
 * undone by a rollback; start_ids undoes it. Nothing is lost with it, since the sequence itself says where it was.
 *
 * Numbers drawn between the look and setval, by next_id or by others, are allowed for by the time that took, see move_to_clock,
 * and 4096 for a burst. What is drawn afterwards is below 0 and no id.
 */
DECLARE
    c_stopped CONSTANT bigint := -1125899906842624; -- -2^50
    c_last_tick CONSTANT bigint := 1125899906842623;
    v_last bigint;
BEGIN
    -- Draws that lag the clock wait for this lock, as for each other: see advance_sequence.
    PERFORM shardflake.lock_ids(sequence);
    v_last := COALESCE(pg_sequence_last_value(sequence), nextval(sequence)); -- not called: new, restarted, or see move_to_clock
    IF v_last < 0 THEN
        RETURN v_last - c_stopped;
    END IF;
    v_last := 0 - shardflake.draws_now() + setval(sequence, c_stopped + pg_sequence_last_value(sequence)) + shardflake.draws_now();
    v_last := LEAST(v_last - c_stopped + 4096, c_last_tick);
    PERFORM setval(sequence, c_stopped + v_last);
    RETURN v_last;
END
$$;

COMMENT ON FUNCTION shardflake.stop_ids(sequence regclass) IS 'Internal: makes a sequence of ticks give no more ids, and returns a tick that none of those it gave is above. Not undone by a rollback';

CREATE FUNCTION shardflake.unfence_shard(shard integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_tables integer := shardflake.fence_tables(shard, false);
BEGIN
    -- After what may fail, since it is not undone by a rollback.
    PERFORM shardflake.fence_ids(shard, false);
    RETURN v_tables;
END
$$;

COMMENT ON FUNCTION shardflake.unfence_shard(shard integer) IS 'Makes this server take writes to a shard (0..8191) again, and returns how many tables it has. Errors: 3F000 when the shard is not here, 55000 for a table without a fence';

SET default_tablespace = '';

CREATE TABLE shard_0000.photo (
    id bigint NOT NULL,
    uid bigint NOT NULL,
    title text,
    CONSTRAINT id_of_shard CHECK ((((id >> 10) & (8191)::bigint) = 0)),
    CONSTRAINT uid_of_shard CHECK (((((uid % (4)::bigint) + 4) % (4)::bigint) = 0))
);

CREATE SEQUENCE shard_0000.photo_id_seq
    START WITH 0
    INCREMENT BY 1
    MINVALUE -1125899906842624
    MAXVALUE 1125899906842623
    CACHE 1;

ALTER SEQUENCE shard_0000.photo_id_seq OWNED BY shard_0000.photo.id;

CREATE TABLE shard_0001.photo (
    id bigint NOT NULL,
    uid bigint NOT NULL,
    title text,
    CONSTRAINT id_of_shard CHECK ((((id >> 10) & (8191)::bigint) = 1)),
    CONSTRAINT uid_of_shard CHECK (((((uid % (4)::bigint) + 4) % (4)::bigint) = 1))
);

CREATE SEQUENCE shard_0001.photo_id_seq
    START WITH 0
    INCREMENT BY 1
    MINVALUE -1125899906842624
    MAXVALUE 1125899906842623
    CACHE 1;

ALTER SEQUENCE shard_0001.photo_id_seq OWNED BY shard_0001.photo.id;

CREATE TABLE shard_0002.photo (
    id bigint NOT NULL,
    uid bigint NOT NULL,
    title text,
    CONSTRAINT id_of_shard CHECK ((((id >> 10) & (8191)::bigint) = 2)),
    CONSTRAINT uid_of_shard CHECK (((((uid % (4)::bigint) + 4) % (4)::bigint) = 2))
);

CREATE SEQUENCE shard_0002.photo_id_seq
    START WITH 0
    INCREMENT BY 1
    MINVALUE -1125899906842624
    MAXVALUE 1125899906842623
    CACHE 1;

ALTER SEQUENCE shard_0002.photo_id_seq OWNED BY shard_0002.photo.id;

CREATE TABLE shard_0003.photo (
    id bigint NOT NULL,
    uid bigint NOT NULL,
    title text,
    CONSTRAINT id_of_shard CHECK ((((id >> 10) & (8191)::bigint) = 3)),
    CONSTRAINT uid_of_shard CHECK (((((uid % (4)::bigint) + 4) % (4)::bigint) = 3))
);

CREATE SEQUENCE shard_0003.photo_id_seq
    START WITH 0
    INCREMENT BY 1
    MINVALUE -1125899906842624
    MAXVALUE 1125899906842623
    CACHE 1;

ALTER SEQUENCE shard_0003.photo_id_seq OWNED BY shard_0003.photo.id;

CREATE TABLE shardflake.databasechangelog (
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

CREATE TABLE shardflake.databasechangeloglock (
    id integer NOT NULL,
    locked boolean NOT NULL,
    lockgranted timestamp without time zone,
    lockedby character varying(255)
);

CREATE TABLE shardflake.layout (
    only_row boolean DEFAULT true NOT NULL,
    epoch_ms bigint NOT NULL,
    layout_version integer NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT layout_epoch_ms_check CHECK (((epoch_ms >= 0) AND (epoch_ms <= '8639999999999'::bigint))),
    CONSTRAINT layout_layout_version_check CHECK ((layout_version > 0)),
    CONSTRAINT layout_only_row_check CHECK (only_row)
);

COMMENT ON TABLE shardflake.layout IS 'How the ids of this database are laid out. Recorded once, never changed: every id made so far depends on it';

COMMENT ON COLUMN shardflake.layout.epoch_ms IS 'Where the time of an id begins: UTC milliseconds since 1970-01-01';

COMMENT ON COLUMN shardflake.layout.layout_version IS 'Version 1: 41 bits of milliseconds since the epoch, 13 bits of shard, 10 bits of sequence';

CREATE TABLE shardflake.move_claim (
    move text NOT NULL,
    claim bigint NOT NULL
);

COMMENT ON TABLE shardflake.move_claim IS 'Which of those who work on a move this server obeys: the one with the latest claim. Stays on its server';

COMMENT ON COLUMN shardflake.move_claim.move IS 'The move''s tag, such as m3_a1b2c3';

COMMENT ON COLUMN shardflake.move_claim.claim IS 'Counted by the catalog, up by one whenever somebody takes the move up';

CREATE TABLE shardflake.move_marker (
    stream text NOT NULL,
    mark bigint NOT NULL,
    marked_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE shardflake.move_marker IS 'How far a replication stream of a move has come: its publisher increases the mark, and its subscriber has all that was committed before when it has the mark';

COMMENT ON COLUMN shardflake.move_marker.stream IS 'The move''s tag and the direction, such as m3_a1b2c3_forward';

COMMENT ON COLUMN shardflake.move_marker.marked_at IS 'By the clock of the publisher';

CREATE TABLE shardflake.placement (
    shard integer NOT NULL,
    epoch bigint NOT NULL,
    here boolean NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE shardflake.placement IS 'What this server knows of the shard map, written in the transactions that open and close a shard: restored with its rows, it tells whether the server is older than the catalog or newer. A shard that no move brought or took has no line';

COMMENT ON COLUMN shardflake.placement.epoch IS 'The shard''s epoch in the shard map with which it was opened here, or given up; 0 for a copy that has never been open';

COMMENT ON COLUMN shardflake.placement.here IS 'Whether it was opened here; if not, it was closed, so that another server could get it with this epoch';

CREATE TABLE shardflake.uid_column (
    only_row boolean DEFAULT true NOT NULL,
    column_name name NOT NULL,
    shard_count integer NOT NULL,
    CONSTRAINT uid_column_only_row_check CHECK (only_row),
    CONSTRAINT uid_column_shard_count_check CHECK (((shard_count >= 1) AND (shard_count <= 8192)))
);

COMMENT ON TABLE shardflake.uid_column IS 'The column of the application''s tables that holds the uid, if it was named: new tables that have it get a check that their rows belong to their shard';

COMMENT ON COLUMN shardflake.uid_column.shard_count IS 'How many shards the installation has: a uid belongs to shard uid mod shard_count';

CREATE TABLE shardflake_deploy.changeset (
    filename text NOT NULL,
    id text NOT NULL,
    author text NOT NULL,
    md5sum text NOT NULL,
    sql text[] NOT NULL
);

CREATE TABLE shardflake_deploy.databasechangelog (
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

ALTER TABLE ONLY shard_0000.photo ALTER COLUMN id SET DEFAULT shard_0000.next_id('shard_0000.photo_id_seq'::regclass);

ALTER TABLE ONLY shard_0001.photo ALTER COLUMN id SET DEFAULT shard_0001.next_id('shard_0001.photo_id_seq'::regclass);

ALTER TABLE ONLY shard_0002.photo ALTER COLUMN id SET DEFAULT shard_0002.next_id('shard_0002.photo_id_seq'::regclass);

ALTER TABLE ONLY shard_0003.photo ALTER COLUMN id SET DEFAULT shard_0003.next_id('shard_0003.photo_id_seq'::regclass);

INSERT INTO shard_0000.photo VALUES (500645344896352256, 0, 'a');
INSERT INTO shard_0000.photo VALUES (500645344896352257, 4, 'b');

INSERT INTO shard_0001.photo VALUES (500645344904741888, 1, 'c');

INSERT INTO shard_0002.photo VALUES (500645344913131520, 2, 'd');
INSERT INTO shard_0002.photo VALUES (500645344913131521, 6, 'e');

INSERT INTO shard_0003.photo VALUES (500645344913132544, 3, 'f');

INSERT INTO shardflake.databasechangelog VALUES ('schema', 'shardflake', 'shardflake/install/schema.sql', '2026-11-22 18:12:47.768674', 1, 'EXECUTED', '9:f7a134ec625e52e191e0d0de682ac0ca', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('internal_schema', 'shardflake', 'shardflake/install/internal.sql', '2026-11-22 18:12:47.796386', 2, 'EXECUTED', '9:0fc4ee99e9558c0a9469e2e817e4aaaf', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('library_version', 'shardflake', 'shardflake/functions/library_version.sql', '2026-11-22 18:12:47.81828', 3, 'EXECUTED', '9:bd2a326ef6d30fd796ea465e97340396', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('layout', 'shardflake', 'shardflake/install/layout.sql', '2026-11-22 18:12:47.868141', 4, 'EXECUTED', '9:e547872beaaf5cb1ad47ec2f5681a6c8', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('move_tables', 'shardflake', 'shardflake/install/moves.sql', '2026-11-22 18:12:47.952786', 5, 'EXECUTED', '9:f3a5dfcc329f89c779de92cba1ea72c9', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('placement_table', 'shardflake', 'shardflake/install/placement.sql', '2026-11-22 18:12:47.987139', 6, 'EXECUTED', '9:4b88198d10bc21048ce41c87f3a22316', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('uid_column', 'shardflake', 'shardflake/install/uid_column.sql', '2026-11-22 18:12:48.03422', 7, 'EXECUTED', '9:5c53dc3bfdd74ef3f00f03cf78f0f477', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('last_fence', 'shardflake', 'shardflake/install/last_fence.sql', '2026-11-22 18:12:48.079747', 8, 'EXECUTED', '9:d0b86f652c2ce0e2ae9c74b1f0312792', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('clock_ms', 'shardflake', 'shardflake/internal/clock_ms.sql', '2026-11-22 18:12:48.278293', 9, 'EXECUTED', '9:a8f3e3c82e1946ed284421de085c5a8f', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('now_ticks', 'shardflake', 'shardflake/internal/now_ticks.sql', '2026-11-22 18:12:48.3103', 10, 'EXECUTED', '9:af974729ea2f16ef83cc09e31c4a6f53', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('hot_lag', 'shardflake', 'shardflake/internal/hot_lag.sql', '2026-11-22 18:12:48.318649', 11, 'EXECUTED', '9:1ff746f3ba8613926ac07dc38c51477e', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('is_hot', 'shardflake', 'shardflake/internal/is_hot.sql', '2026-11-22 18:12:48.343131', 12, 'EXECUTED', '9:54c414d8d7fb25bc381ca16d38a1460f', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('is_stopped', 'shardflake', 'shardflake/internal/is_stopped.sql', '2026-11-22 18:12:48.358547', 13, 'EXECUTED', '9:ec6868133e33da434125085a5d797eea', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('is_shard', 'shardflake', 'shardflake/internal/is_shard.sql', '2026-11-22 18:12:48.384533', 14, 'EXECUTED', '9:3f7445248f9f4332980c6565bb769d05', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('check_shard', 'shardflake', 'shardflake/internal/check_shard.sql', '2026-11-22 18:12:48.39532', 15, 'EXECUTED', '9:82a231bd4eb67ab6db1ec37098f6130a', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('compose_id', 'shardflake', 'shardflake/internal/compose_id.sql', '2026-11-22 18:12:48.402989', 16, 'EXECUTED', '9:c8425b8c3ff17e4e5f1222144a666ab0', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('shard_schema', 'shardflake', 'shardflake/functions/shard_schema.sql', '2026-11-22 18:12:48.434355', 17, 'EXECUTED', '9:73913d8b6454c2ae144f89620fc9f742', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('relations', 'shardflake', 'shardflake/internal/relations.sql', '2026-11-22 18:12:48.451234', 18, 'EXECUTED', '9:260665a8f9846e1bac8ec31abfca6f66', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('sequences', 'shardflake', 'shardflake/internal/sequences.sql', '2026-11-22 18:12:48.465423', 19, 'EXECUTED', '9:42628636e0d966af30fab507d50a8c48', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('lock_key', 'shardflake', 'shardflake/internal/lock_key.sql', '2026-11-22 18:12:48.48348', 20, 'EXECUTED', '9:aa78239097918be99d71b91d278797ab', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('await_lock', 'shardflake', 'shardflake/internal/await_lock.sql', '2026-11-22 18:12:48.491953', 21, 'EXECUTED', '9:6d338623e9a89121dac6e53a3fb2b064', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('refuse_wait', 'shardflake', 'shardflake/internal/await_lock.sql', '2026-11-22 18:12:48.506398', 22, 'EXECUTED', '9:f8095d6f598dbf2fb72146331a94e392', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('draws_now', 'shardflake', 'shardflake/internal/draws_now.sql', '2026-11-22 18:12:48.516883', 23, 'EXECUTED', '9:82c3cda8fe085161e27845f362e6ccc6', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('outside_relatives', 'shardflake', 'shardflake/internal/outside_relatives.sql', '2026-11-22 18:12:48.529778', 24, 'EXECUTED', '9:1dd0641e6252317b41d8bb83c726b904', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('refuse_relatives', 'shardflake', 'shardflake/internal/outside_relatives.sql', '2026-11-22 18:12:48.545232', 25, 'EXECUTED', '9:9818e970d748aee21dd03aadc9603186', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('sequence_room', 'shardflake', 'shardflake/internal/sequence_room.sql', '2026-11-22 18:12:48.56412', 26, 'EXECUTED', '9:e326f7550d4df1265aa352b4e5b04fde', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('adds_checks', 'shardflake', 'shardflake/internal/adds_checks.sql', '2026-11-22 18:12:48.573827', 27, 'EXECUTED', '9:fe4c4cb6c973d95ec6068b105072a89b', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('checks', 'shardflake', 'shardflake/internal/checks.sql', '2026-11-22 18:12:48.587253', 28, 'EXECUTED', '9:8dfe1d134583cecdfe6061d3230030f9', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('add_check', 'shardflake', 'shardflake/functions/add_check.sql', '2026-11-22 18:12:48.599137', 29, 'EXECUTED', '9:9a8085d1861b0e6572be53b4243c9d1b', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('refuse_draw', 'shardflake', 'shardflake/internal/refuse_draw.sql', '2026-11-22 18:12:48.619289', 30, 'EXECUTED', '9:3c4aab5e347f54a7374f7b81ca41874e', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('move_to_clock', 'shardflake', 'shardflake/internal/move_to_clock.sql', '2026-11-22 18:12:48.63693', 31, 'EXECUTED', '9:55c6c6dde8613801d333d32e6e61db5d', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('advance_sequence', 'shardflake', 'shardflake/internal/advance_sequence.sql', '2026-11-22 18:12:48.674626', 32, 'EXECUTED', '9:0edba13e0b398f14fc1d636821112903', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('draw_cold', 'shardflake', 'shardflake/internal/draw_cold.sql', '2026-11-22 18:12:48.693293', 33, 'EXECUTED', '9:41b676652a52339861d8da8d006fad60', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('create_id_sequence', 'shardflake', 'shardflake/internal/create_id_sequence.sql', '2026-11-22 18:12:48.732255', 34, 'EXECUTED', '9:386d4a84ece79abb09bdaf6fd0e46925', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('next_ids', 'shardflake', 'shardflake/functions/next_ids.sql', '2026-11-22 18:12:48.746555', 35, 'EXECUTED', '9:ef3ac64c6165f68eb81e02e266969b05', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('id_timestamp', 'shardflake', 'shardflake/functions/id_timestamp.sql', '2026-11-22 18:12:48.766873', 36, 'EXECUTED', '9:f857f66b918a2f6b9a1cadbbcbb75890', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('id_shard', 'shardflake', 'shardflake/functions/id_shard.sql', '2026-11-22 18:12:48.787205', 37, 'EXECUTED', '9:2c0fd583a555b959ed2f4773690a0617', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('id_sequence', 'shardflake', 'shardflake/functions/id_sequence.sql', '2026-11-22 18:12:48.811607', 38, 'EXECUTED', '9:5efa387c2031b1a5b8f9cfe8c7e89c21', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('min_id', 'shardflake', 'shardflake/functions/min_id.sql', '2026-11-22 18:12:48.821782', 39, 'EXECUTED', '9:dfcea5016d8d0a0a1d77838076ebcccd', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('max_id', 'shardflake', 'shardflake/functions/max_id.sql', '2026-11-22 18:12:48.832418', 40, 'EXECUTED', '9:8831c344890f5e36a9a91973f50f0174', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('id_to_base32', 'shardflake', 'shardflake/functions/id_to_base32.sql', '2026-11-22 18:12:48.841733', 41, 'EXECUTED', '9:66e657e490bfcbb8152ce76dbbc694d5', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('base32_to_id', 'shardflake', 'shardflake/functions/base32_to_id.sql', '2026-11-22 18:12:48.867789', 42, 'EXECUTED', '9:699b9bbb441be119e45134ccad72f4b7', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('id_to_shortcode', 'shardflake', 'shardflake/functions/id_to_shortcode.sql', '2026-11-22 18:12:48.877754', 43, 'EXECUTED', '9:ac5e00acd4e9dd883139e9a6a58714bd', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('shortcode_to_id', 'shardflake', 'shardflake/functions/shortcode_to_id.sql', '2026-11-22 18:12:48.903732', 44, 'EXECUTED', '9:77fff177e096cf9d7e0cf824cb960675', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('permute_id', 'shardflake', 'shardflake/internal/permute_id.sql', '2026-11-22 18:12:48.913714', 45, 'EXECUTED', '9:7c493edd6a92388bf1e52d7cfc7d4586', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('id_to_public', 'shardflake', 'shardflake/functions/id_to_public.sql', '2026-11-22 18:12:48.923255', 46, 'EXECUTED', '9:62d5ed0badf3aa485b8a830fbd35cdfa', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('public_to_id', 'shardflake', 'shardflake/functions/public_to_id.sql', '2026-11-22 18:12:48.939551', 47, 'EXECUTED', '9:743ac60b7aafdf3498ac24fba3f815e7', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('add_id_sequence', 'shardflake', 'shardflake/functions/add_id_sequence.sql', '2026-11-22 18:12:48.955407', 48, 'EXECUTED', '9:c41c32bf76d57b873fbaad4536c5683c', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('key_hash', 'shardflake', 'shardflake/functions/key_hash.sql', '2026-11-22 18:12:48.97413', 49, 'EXECUTED', '9:218b8c04fd449cbb35e97d20df2e3d92', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('fence_write', 'shardflake', 'shardflake/internal/fence_write.sql', '2026-11-22 18:12:48.985733', 50, 'EXECUTED', '9:c481480384ef664e1314133835e323ab', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('fences', 'shardflake', 'shardflake/internal/fences.sql', '2026-11-22 18:12:49.006026', 51, 'EXECUTED', '9:189ae8655e50e302b74e9c4d15e0cbcf', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('set_fence', 'shardflake', 'shardflake/internal/set_fence.sql', '2026-11-22 18:12:49.013952', 52, 'EXECUTED', '9:33832abf815fea92ed3c915a480f61e1', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('lock_ids', 'shardflake', 'shardflake/internal/stop_ids.sql', '2026-11-22 18:12:49.049356', 53, 'EXECUTED', '9:ea38bfb19a9932521069ef099f779f67', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('stop_ids', 'shardflake', 'shardflake/internal/stop_ids.sql', '2026-11-22 18:12:49.089841', 54, 'EXECUTED', '9:385ef8a9e6310cd4e2fb8cf50147ea61', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('start_ids', 'shardflake', 'shardflake/internal/stop_ids.sql', '2026-11-22 18:12:49.103636', 55, 'EXECUTED', '9:84a162aa01567df2f9bae3e4c9f420f5', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('fence_tables', 'shardflake', 'shardflake/internal/fence_tables.sql', '2026-11-22 18:12:49.127265', 56, 'EXECUTED', '9:c3fedd4cb56925ffbf7d8593278ec911', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('fence_ids', 'shardflake', 'shardflake/internal/fence_tables.sql', '2026-11-22 18:12:49.14584', 57, 'EXECUTED', '9:747dc93a8db19ec1c2879d2073c3d3a0', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('add_fence', 'shardflake', 'shardflake/functions/add_fence.sql', '2026-11-22 18:12:49.173424', 58, 'EXECUTED', '9:f11f797eff0472c6a0c2357632ddead4', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('fence_shard', 'shardflake', 'shardflake/functions/fence_shard.sql', '2026-11-22 18:12:49.208029', 59, 'EXECUTED', '9:cff33890c1a407469e65a3cf39c8025a', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('unfence_shard', 'shardflake', 'shardflake/functions/unfence_shard.sql', '2026-11-22 18:12:49.237033', 60, 'EXECUTED', '9:bfce313e98ca6cd5b39b2a4157eb72b2', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('is_fenced', 'shardflake', 'shardflake/functions/is_fenced.sql', '2026-11-22 18:12:49.261971', 61, 'EXECUTED', '9:ab5cfa817e18d1497a9f503ab8876fe4', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('refuse_work', 'shardflake', 'shardflake/functions/require_open.sql', '2026-11-22 18:12:49.280127', 62, 'EXECUTED', '9:d85f10ba05b1b55892c440bb85323358', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('require_open', 'shardflake', 'shardflake/functions/require_open.sql', '2026-11-22 18:12:49.300125', 63, 'EXECUTED', '9:382af8f9a8e471e2ef2d77451dc2370a', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('sequence_positions', 'shardflake', 'shardflake/functions/sequence_positions.sql', '2026-11-22 18:12:49.323584', 64, 'EXECUTED', '9:49ad49b67d9e257560946896c5a4610c', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('set_sequence_positions', 'shardflake', 'shardflake/functions/set_sequence_positions.sql', '2026-11-22 18:12:49.350712', 65, 'EXECUTED', '9:62a13b3dbbfee5390feb4cbb5cb86a60', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('claim_move', 'shardflake', 'shardflake/internal/claim_move.sql', '2026-11-22 18:12:49.35483', 66, 'EXECUTED', '9:0924c3bde2127d3d0dc603470c0c769d', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('check_claim', 'shardflake', 'shardflake/internal/claim_move.sql', '2026-11-22 18:12:49.365791', 67, 'EXECUTED', '9:88d95b666c10d33545a5c51a58a45367', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('mark', 'shardflake', 'shardflake/internal/mark.sql', '2026-11-22 18:12:49.377557', 68, 'EXECUTED', '9:b42a4652a76e821b846822b9c1696fab', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('record_placement', 'shardflake', 'shardflake/internal/record_placement.sql', '2026-11-22 18:12:49.395543', 69, 'EXECUTED', '9:5846330ffbb799e9bdcf29d6d8bafde7', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('complete_tables', 'shardflake', 'shardflake/functions/complete_tables.sql', '2026-11-22 18:12:49.412122', 70, 'EXECUTED', '9:995307a6004eead7befd480ca51b897b', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('create_shard', 'shardflake', 'shardflake/functions/create_shard.sql', '2026-11-22 18:12:49.426527', 71, 'EXECUTED', '9:808d186942491f7eb5af6ca455014e2e', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('drop_shard', 'shardflake', 'shardflake/functions/drop_shard.sql', '2026-11-22 18:12:49.461741', 72, 'EXECUTED', '9:cbdcd087d1a6fed5b6521da5c071fae7', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('next_id_of_shard', 'shardflake', 'shardflake/functions/next_id_of_shard.sql', '2026-11-22 18:12:49.482867', 73, 'EXECUTED', '9:3b2395bfae965878ef5e542ff6c191a8', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');
INSERT INTO shardflake.databasechangelog VALUES ('next_id', 'shardflake', 'shardflake/functions/next_id.sql', '2026-11-22 18:12:49.550281', 74, 'EXECUTED', '9:1d0138024e17903f58c34fc97fea74cf', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371163085');

INSERT INTO shardflake.databasechangeloglock VALUES (1, false, NULL, NULL);

INSERT INTO shardflake.layout VALUES (true, 1735689600000, 1, '2026-11-22 18:12:47.853739+00');

INSERT INTO shardflake.uid_column VALUES (true, 'uid', 4);

INSERT INTO shardflake_deploy.changeset VALUES ('db/app.sql', 'photo', 'ann', '9:bb3d6a4b3a0d8683746bcbfa19d85575', '{"CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text)"}');

INSERT INTO shardflake_deploy.databasechangelog VALUES ('photo', 'ann', 'shard_0000/db/app.sql', '2026-11-22 18:12:55.253253', 1, 'EXECUTED', '9:bb3d6a4b3a0d8683746bcbfa19d85575', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371172660');
INSERT INTO shardflake_deploy.databasechangelog VALUES ('photo', 'ann', 'shard_0002/db/app.sql', '2026-11-22 18:12:55.355465', 1, 'EXECUTED', '9:bb3d6a4b3a0d8683746bcbfa19d85575', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371172660');
INSERT INTO shardflake_deploy.databasechangelog VALUES ('photo', 'ann', 'shard_0001/db/app.sql', '2026-11-22 18:12:55.351546', 1, 'EXECUTED', '9:bb3d6a4b3a0d8683746bcbfa19d85575', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371172660');
INSERT INTO shardflake_deploy.databasechangelog VALUES ('photo', 'ann', 'shard_0003/db/app.sql', '2026-11-22 18:12:55.47825', 1, 'EXECUTED', '9:bb3d6a4b3a0d8683746bcbfa19d85575', 'sql', '', NULL, '4.33.0', NULL, NULL, '5371172660');

SELECT pg_catalog.setval('shard_0000.id_seq', 0, false);

SELECT pg_catalog.setval('shard_0000.photo_id_seq', 61113933703169, true);

SELECT pg_catalog.setval('shard_0001.id_seq', 0, false);

SELECT pg_catalog.setval('shard_0001.photo_id_seq', 61113933704192, true);

SELECT pg_catalog.setval('shard_0002.id_seq', 0, false);

SELECT pg_catalog.setval('shard_0002.photo_id_seq', 61113933705217, true);

SELECT pg_catalog.setval('shard_0003.id_seq', 0, false);

SELECT pg_catalog.setval('shard_0003.photo_id_seq', 61113933705216, true);

SELECT pg_catalog.setval('shardflake.last_fence', -5629739941183520357, true);

ALTER TABLE ONLY shard_0000.photo
    ADD CONSTRAINT photo_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shard_0001.photo
    ADD CONSTRAINT photo_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shard_0002.photo
    ADD CONSTRAINT photo_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shard_0003.photo
    ADD CONSTRAINT photo_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shardflake.databasechangeloglock
    ADD CONSTRAINT databasechangeloglock_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shardflake.layout
    ADD CONSTRAINT layout_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shardflake.move_claim
    ADD CONSTRAINT move_claim_pkey PRIMARY KEY (move);

ALTER TABLE ONLY shardflake.move_marker
    ADD CONSTRAINT move_marker_pkey PRIMARY KEY (stream);

ALTER TABLE ONLY shardflake.placement
    ADD CONSTRAINT placement_pkey PRIMARY KEY (shard);

ALTER TABLE ONLY shardflake.uid_column
    ADD CONSTRAINT uid_column_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shardflake_deploy.changeset
    ADD CONSTRAINT changeset_pkey PRIMARY KEY (filename, id, author, md5sum);

CREATE INDEX databasechangelog_filename_idx ON shardflake_deploy.databasechangelog USING btree (filename);

CREATE TRIGGER shardflake_fence BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shard_0000.photo FOR EACH STATEMENT EXECUTE FUNCTION shardflake.fence_write('down');

ALTER TABLE shard_0000.photo DISABLE TRIGGER shardflake_fence;

CREATE TRIGGER shardflake_fence BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shard_0001.photo FOR EACH STATEMENT EXECUTE FUNCTION shardflake.fence_write('down');

ALTER TABLE shard_0001.photo DISABLE TRIGGER shardflake_fence;

CREATE TRIGGER shardflake_fence BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shard_0002.photo FOR EACH STATEMENT EXECUTE FUNCTION shardflake.fence_write('down');

ALTER TABLE shard_0002.photo DISABLE TRIGGER shardflake_fence;

CREATE TRIGGER shardflake_fence BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shard_0003.photo FOR EACH STATEMENT EXECUTE FUNCTION shardflake.fence_write('down');

ALTER TABLE shard_0003.photo DISABLE TRIGGER shardflake_fence;

CREATE TRIGGER layout_is_fixed BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardflake.layout FOR EACH STATEMENT EXECUTE FUNCTION shardflake.refuse_layout_change();

REVOKE ALL ON FUNCTION shardflake.add_fence(table_name regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.add_id_sequence(table_name regclass, column_name name) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.await_lock(sequence regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.check_claim(move text, claim bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.checks(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.claim_move(move text, claim bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.complete_tables(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.create_id_sequence(schema_name text, sequence_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.create_shard(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.drop_shard(shard integer, force boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.fence_ids(shard integer, fenced boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.fence_shard(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.fence_tables(shard integer, fenced boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.fence_write() FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.fences(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.is_fenced(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.lock_ids(sequence regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.mark(stream text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.move_to_clock(sequence regclass, now_ticks bigint, margin bigint, first bigint, lock bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.outside_relatives(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.record_placement(shard integer, epoch bigint, here boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.refuse_draw(shard integer, sequence regclass, last bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.refuse_relatives(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.refuse_wait(sequence regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.relations(shard integer) FROM PUBLIC;

GRANT SELECT ON SEQUENCE shardflake.last_fence TO PUBLIC;

REVOKE ALL ON FUNCTION shardflake.sequence_positions(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.sequence_room(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.sequences(shard integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.set_fence(table_name regclass, fenced boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.set_sequence_positions(shard integer, sequence_names name[], last_values bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.start_ids(sequence regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.stop_ids(sequence regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION shardflake.unfence_shard(shard integer) FROM PUBLIC;

GRANT SELECT ON TABLE shardflake.layout TO PUBLIC;

