--liquibase formatted sql logicalFilePath:shardflake/functions/complete_tables.sql

--changeset shardflake:complete_tables runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.complete_tables(shard integer) RETURNS integer
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_generic_plan -- or it would be planned for each shard, which takes longer than to run it
AS $$
/*
 * A column that is the whole primary key, bigint, and filled by nothing else is taken to be an id. One that
 * references another table has its values from there, and the uid from the application. One that its comment says to be
 * the table's shard key makes keys of its shard.
 *
 * A deployment calls this between two changesets, too, so that the later one meets what an earlier deployment would have
 * left: with shardflake.meanwhile = 'ids', which leaves checks and fences to the end, or 'all'. A table without a
 * primary key may get one then.
 */
DECLARE
    v_table record;
    v_shard_count integer := (SELECT shard_count FROM shardflake.uid_column);
    v_new regclass[] := '{}';
    v_rekeyed regclass[] := '{}';
    v_referring regclass[] := '{}';
    v_keyless text[] := '{}';
    v_meanwhile text := COALESCE(current_setting('shardflake.meanwhile', true), '');
    v_checks text := COALESCE(current_setting('shardflake.checks', true), '');
BEGIN
    IF v_meanwhile = 'ids' THEN
        PERFORM set_config('shardflake.checks', 'off', true);
    END IF;
    PERFORM shardflake.refuse_relatives(shard);
    FOR v_table IN
        SELECT c.oid::regclass AS target, k.conkey AS key, a.attname AS id,
               a.atttypid = 'bigint'::regtype AND NOT a.atthasdef AND a.attidentity = '' AND NOT c.relispartition
                   AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f' AND k.conkey[1] = ANY (f.conkey)) AS needs_values,
               a.attnum = y.attnum AS is_key, y.said AS says_key, string_agg(y.column_name, ', ') OVER (PARTITION BY c.oid) AS keys, min(y.attnum) OVER (PARTITION BY c.oid) <> max(y.attnum) OVER (PARTITION BY c.oid) AS has_several_keys,
               EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f' AND y.attnum = ANY (f.conkey)) AS refers_by_key,
               y.said AND a.attnum = y.attnum AND a.atthasdef AND NOT c.relispartition AND (
                   SELECT pg_get_expr(d.adbin, d.adrelid) ~ 'next_id[(]' AND pg_get_expr(d.adbin, d.adrelid) !~ 'id_to_key[(]'
                     FROM pg_attrdef d WHERE d.adrelid = c.oid AND d.adnum = a.attnum) AS makes_ids,
               CASE WHEN y.said OR t.oid IS NULL THEN y.attnum IS NOT NULL AND NOT c.relispartition AND (
                   SELECT ka.attidentity <> '' OR COALESCE(pg_get_expr(d.adbin, d.adrelid) ~ '(nextval|gen_random_uuid|uuidv[47]|uuid_generate_v[1-5][a-z]*)[(]', false)
                     FROM pg_attribute ka LEFT JOIN pg_attrdef d ON d.adrelid = ka.attrelid AND d.adnum = ka.attnum
                    WHERE ka.attrelid = c.oid AND ka.attnum = y.attnum) END AS makes_up_keys,
               t.oid AS fence, t.oid IS NULL AS needs_fence,
               t.tgenabled = 'D' AND t.tgnargs = 0 OR t.tgenabled <> 'D' AND t.tgargs = decode('646f776e00', 'hex') AS has_odd_fence, -- see fence_write
               c.relreplident IN ('d', 'i') AND NOT (x.indimmediate AND x.indisvalid AND x.indisready) AS lacks_identity
          FROM shardflake.relations(shard) relation
          JOIN pg_class c ON c.oid = relation
          LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
          LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1] AND cardinality(k.conkey) = 1
          LEFT JOIN shardflake.shard_keys(shard) y ON y.target = c.oid
          LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgfoid = 'shardflake.fence_write'::regproc
          LEFT JOIN pg_index x ON x.indrelid = c.oid AND CASE c.relreplident WHEN 'i' THEN x.indisreplident ELSE x.indisprimary END
         WHERE c.relkind IN ('r', 'p')
         ORDER BY c.relname COLLATE "C"
    LOOP
        IF v_table.has_several_keys THEN -- Only what is said can be several.
            RAISE EXCEPTION 'table % has several shard keys: %', v_table.target, v_table.keys
                USING ERRCODE = 'invalid_table_definition',
                      HINT = 'The comment of one column only may begin with: shard key.';
        END IF;
        IF v_table.key IS NULL THEN
            v_keyless := v_keyless || v_table.target::text;
            CONTINUE;
        END IF;
        IF v_table.lacks_identity THEN
            CONTINUE WHEN v_meanwhile <> '';
            RAISE EXCEPTION 'the primary key of table % is deferrable, or its index is not valid', v_table.target
                USING ERRCODE = 'invalid_table_definition',
                      HINT = 'Make it NOT DEFERRABLE: PostgreSQL replicates no UPDATE and no DELETE by such a key, so the shard could not be moved.';
        END IF;
        IF v_table.makes_up_keys AND shardflake.adds_checks() AND COALESCE(current_setting('shardflake.copying', true), '') <> 'on'
           AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = v_table.target AND f.conname = shardflake.check_name(v_table.keys::name)) THEN
            RAISE EXCEPTION 'column % of table % is the shard key, and PostgreSQL fills it with keys of any shard', v_table.keys, v_table.target
                USING ERRCODE = 'invalid_table_definition',
                      HINT = 'Declare it without IDENTITY, serial or DEFAULT. The application makes the key and routes by it; a bigint primary key with the comment ''shard key'' gets a DEFAULT that makes keys of the shard.';
        END IF;
        IF v_table.needs_values AND v_table.is_key IS NOT TRUE THEN
            PERFORM shardflake.add_id_sequence(v_table.target, v_table.id);
        ELSIF v_table.needs_values AND v_table.says_key OR v_table.makes_ids THEN
            PERFORM shardflake.make_keys(v_table.target, v_table.id, v_shard_count);
            v_rekeyed := v_rekeyed || v_table.target;
        END IF;
        CONTINUE WHEN v_meanwhile = 'ids';
        IF v_table.needs_fence THEN
            PERFORM shardflake.add_fence(v_table.target);
            v_new := v_new || v_table.target;
            IF v_table.refers_by_key THEN
                v_referring := v_referring || v_table.target;
            END IF;
        ELSIF v_table.has_odd_fence THEN
            EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', v_table.target);
            -- Unless it has gone up meanwhile. This function sees the latest definition, whatever the snapshot.
            IF pg_get_triggerdef(v_table.fence) NOT LIKE '%(''up'')' THEN
                PERFORM shardflake.set_fence(v_table.target, false);
            END IF;
        END IF;
    END LOOP;
    IF cardinality(v_keyless) > 0 AND v_meanwhile = '' THEN
        RAISE EXCEPTION '%', CASE cardinality(v_keyless) WHEN 1 THEN format('table %s has no primary key', v_keyless[1])
                                  ELSE format('%s tables have no primary key: %s%s', cardinality(v_keyless), array_to_string(v_keyless[:10], ', '),
                                              CASE WHEN cardinality(v_keyless) > 10 THEN ', and others' ELSE '' END) END
            USING ERRCODE = 'invalid_table_definition',
                  HINT = 'Add one: without it the rows of a shard can be neither replicated to another server nor compared.';
    END IF;
    IF v_meanwhile = 'ids' THEN
        PERFORM set_config('shardflake.checks', v_checks, true);
    ELSE
        PERFORM shardflake.publish_shard(shard);
    END IF;
    IF cardinality(v_new || v_rekeyed) > 0 AND shardflake.adds_checks() THEN
        PERFORM shardflake.add_check(c.target, c.column_name, c.shard_count)
           FROM shardflake.checks(shard) c WHERE c.target = ANY (v_new || v_rekeyed) AND NOT c.present;
        IF cardinality(v_referring) > 0 THEN
            PERFORM shardflake.refuse_misrouting(shard, v_referring);
        END IF;
    END IF;
    RETURN cardinality(v_new);
END
$$;

COMMENT ON FUNCTION shardflake.complete_tables(integer) IS
'Gives the tables of a shard what they lack: a sequence and DEFAULT for an id (a bigint that is the whole primary key and filled by nothing else), a sequence and DEFAULT for a key if a comment says that this column is the shard key, a fence, a place in the publication shardflake_cdc if there is one, and, if they are new, the checks that keep ids and uids of other shards out. Returns how many tables were new. Errors: 42P16 for a table without a primary key that replication can go by, for one with a parent or child outside the shard, for one whose key refers to ids of another shard, and for one whose shard key PostgreSQL fills by itself; 55000 for a key column that holds ids already';

REVOKE EXECUTE ON FUNCTION shardflake.complete_tables(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.complete_tables(integer);
