DO $shardflake$
/*
 * A function's body is looked at when it is called. So everything is computed for some rows, and for a row made up, since a STRICT
 * function is not called for NULL and a table may be empty; bodies in SQL are read without that, too. It is a table's owner who
 * calls, as when PostgreSQL itself builds an index. From a role that was only set a function could go back to a superuser's: there the
 * query is that of a materialized view, which runs with its owner's rights and no others.
 */
DECLARE
    v_path CONSTANT text := current_setting('search_path');
    v_role CONSTANT text := current_setting('role');
    v_try record;
    v_found text[] := '{}';
BEGIN
    PERFORM set_config('search_path', '', true);
    FOR v_try IN
        WITH relation AS MATERIALIZED (
            SELECT c.oid, c.relname, c.relowner, n.nspname
              FROM pg_namespace n
              JOIN pg_depend d ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid AND d.classid = 'pg_class'::regclass
              JOIN pg_class c ON c.oid = d.objid
             WHERE n.nspname = ANY (@schemas) AND c.relkind = 'r'),
        computed AS MATERIALIZED (
            SELECT r.oid AS relation, 'index ' || i.indexrelid::regclass AS what, i.indexrelid AS object, 'pg_class'::regclass AS class,
                   ARRAY(SELECT pg_get_indexdef(i.indexrelid, k + 1, false) FROM generate_series(0, i.indnatts - 1) k WHERE i.indkey[k] = 0)
                   || pg_get_expr(i.indpred, i.indrelid) AS expressions
              FROM relation r JOIN pg_index i ON i.indrelid = r.oid
             WHERE i.indexprs IS NOT NULL OR i.indpred IS NOT NULL
             UNION ALL
            SELECT r.oid, format('constraint %I of %s', k.conname, r.oid::regclass), k.oid, 'pg_constraint'::regclass, ARRAY[pg_get_expr(k.conbin, k.conrelid)]
              FROM relation r JOIN pg_constraint k ON k.conrelid = r.oid AND k.contype = 'c'
             UNION ALL
            SELECT r.oid, format('generated column %s.%I', r.oid::regclass, a.attname), g.oid, 'pg_attrdef'::regclass, ARRAY[pg_get_expr(g.adbin, g.adrelid)]
              FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attgenerated <> ''
              JOIN pg_attrdef g ON g.adrelid = r.oid AND g.adnum = a.attnum
             UNION ALL
            SELECT r.oid, format('constraint %I of domain %s', k.conname, t.oid::regtype), k.oid, 'pg_constraint'::regclass,
                   ARRAY[format('(%I::text)::%s', a.attname, t.oid::regtype)]
              FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
              JOIN pg_type t ON t.oid = a.atttypid AND t.typtype = 'd'
              JOIN pg_constraint k ON k.contypid = t.oid AND k.contype = 'c'),
        -- PostgreSQL's own functions are not in pg_depend; the library's are qualified.
        calls AS MATERIALIZED (
            SELECT c.*, p.oid AS function
              FROM computed c
              JOIN pg_depend d ON d.classid = c.class AND d.objid = c.object AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
              LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
              JOIN pg_proc p ON p.oid = CASE d.refclassid WHEN 'pg_proc'::regclass THEN d.refobjid ELSE o.oprcode END
             WHERE p.pronamespace IS DISTINCT FROM to_regnamespace('shardflake')),
        made_up AS (
            SELECT r.oid,
                   string_agg(format('%s::%s AS %I',
                       CASE WHEN t.typtype = 'd' THEN CASE t.typcategory WHEN 'S' THEN '''a''' WHEN 'N' THEN '1' ELSE 'NULL' END
                            WHEN t.typname = 'uuid' THEN 'gen_random_uuid()'
                            WHEN t.typname IN ('json', 'jsonb') THEN '''{}'''
                            ELSE CASE t.typcategory WHEN 'S' THEN '''a''' WHEN 'N' THEN '1' WHEN 'B' THEN 'true' WHEN 'D' THEN 'now()'
                                                    WHEN 'A' THEN '''{}''' WHEN 'R' THEN '''empty'''
                                                    WHEN 'E' THEN format('(enum_range(NULL::%s))[1]', t.oid::regtype) ELSE 'NULL' END END,
                       t.oid::regtype, a.attname), ', ' ORDER BY a.attnum) AS columns
              FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type t ON t.oid = a.atttypid
             WHERE r.oid IN (SELECT relation FROM calls)
             GROUP BY r.oid)
        SELECT DISTINCT c.what, c.function::regprocedure::text AS function,
               CASE WHEN pg_has_role(r.relowner, 'MEMBER') THEN pg_get_userbyid(r.relowner)::text ELSE v_role END AS role,
               format('%I.%I', r.nspname, 'shardflake_try_' || pg_backend_pid()) AS name,
               EXISTS (SELECT FROM pg_roles m, pg_roles o WHERE m.rolname = current_user AND m.rolsuper AND o.oid = r.relowner AND NOT o.rolsuper) AS is_apart,
               v.statement
          FROM calls c JOIN relation r ON r.oid = c.relation JOIN made_up m ON m.oid = c.relation
          JOIN pg_proc p ON p.oid = c.function JOIN pg_language l ON l.oid = p.prolang
         CROSS JOIN unnest(c.expressions) e
         CROSS JOIN LATERAL (VALUES
             (CASE WHEN l.lanname = 'sql' AND p.prosqlbody IS NULL AND NOT EXISTS (SELECT FROM unnest(p.proconfig) s WHERE s LIKE 'search_path=%')
                   THEN format('SELECT fmgr_sql_validator(%s)', p.oid) END),
             (format('SELECT count(x) FROM (SELECT (%s) AS x FROM ONLY %s LIMIT 100) s', e, r.oid::regclass)),
             (format('SELECT count(x) FROM (SELECT (%s) AS x FROM (SELECT %s) AS %I) s', e, m.columns, r.relname))) v (statement)
         WHERE v.statement IS NOT NULL AND e IS NOT NULL
    LOOP
        BEGIN
            IF v_try.is_apart THEN
                EXECUTE format('CREATE FUNCTION %1$s() RETURNS boolean LANGUAGE plpgsql AS %2$L; ALTER FUNCTION %1$s() OWNER TO %3$I;
                                CREATE MATERIALIZED VIEW %1$s AS SELECT %1$s() AS is_done WITH NO DATA; ALTER MATERIALIZED VIEW %1$s OWNER TO %3$I;
                                REFRESH MATERIALIZED VIEW %1$s; DROP MATERIALIZED VIEW %1$s; DROP FUNCTION %1$s()',
                               v_try.name, format('DECLARE v_none record; BEGIN EXECUTE %L INTO v_none; RETURN true; END', v_try.statement), v_try.role);
            ELSE
                PERFORM set_config('role', v_try.role, true);
                EXECUTE v_try.statement;
            END IF;
        EXCEPTION
            WHEN undefined_function OR undefined_table OR undefined_object OR invalid_schema_name THEN
                v_found := v_found || format('%s, which calls %s: %s', v_try.what, v_try.function, SQLERRM);
            WHEN syntax_error THEN
                RAISE;
            WHEN OTHERS THEN
                NULL; -- the row is at fault
        END;
        PERFORM set_config('role', v_role, true);
    END LOOP;
    PERFORM set_config('search_path', v_path, true);
    v_found := ARRAY(SELECT DISTINCT f FROM unnest(v_found) f ORDER BY f);
    IF v_found <> '{}' THEN
        RAISE EXCEPTION 'cannot be computed with an empty search_path, which replication has: %',
                array_to_string(v_found[:3], '; ') || CASE WHEN cardinality(v_found) > 3 THEN format('; and %s more', cardinality(v_found) - 3) ELSE '' END
            USING ERRCODE = 'invalid_object_definition',
                  HINT = 'Give the function its search_path (ALTER FUNCTION ... SET search_path FROM CURRENT, with the shard''s schema in the path), or qualify the names in its body.';
    END IF;
END
$shardflake$
