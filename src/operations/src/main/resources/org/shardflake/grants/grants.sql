-- What a role needs in this database, by what it is to do: whether it has it, and the statement that grants it, if any statement can.
-- Parameters: the role's name; roles that own shards on other servers; the one that owns the function library there, or null; whether
-- row-level security is forced on owners there; and twice, what the role is to do.
WITH wanted AS (SELECT ?::name AS rolname, ?::text[] AS owners, ?::name AS library_owner, ?::boolean AS forced),
role AS (
    SELECT quote_ident(w.rolname) AS name, r.oid, COALESCE(r.rolsuper, false) AS is_superuser, COALESCE(r.rolreplication, false) AS replicates
      FROM wanted w LEFT JOIN pg_roles r USING (rolname)),
server AS (
    SELECT current_setting('server_version_num')::integer / 10000 AS version, quote_ident(current_database()) AS database,
           (SELECT oid FROM pg_roles WHERE rolname = 'rds_replication') AS rds_replication,
           (SELECT oid FROM pg_roles WHERE rolname = 'pg_create_subscription') AS creators,
           (SELECT oid FROM pg_roles WHERE rolname = 'pg_read_all_stats') AS observers),
-- Whose right to create subscriptions is their provider's invention.
provider AS (
    SELECT bool_or(pg_has_role(r.oid, p.oid, 'USAGE')) AS is_there
      FROM role r, pg_roles p WHERE r.oid IS NOT NULL AND p.rolname IN ('rds_superuser', 'cloudsqlsuperuser', 'azure_pg_admin', 'neon_superuser')),
schema AS (SELECT oid, nspname, nspowner, nspname ~ '^shard_[0-9]{4}$' AS is_shard FROM pg_namespace WHERE nspname ~ '^(shard(flake(_catalog|_deploy)?|_[0-9]{4})|reference)$'),
owned (owner, part) AS (
    SELECT nspowner, CASE WHEN is_shard THEN 'shards' WHEN nspname = 'shardflake_catalog' THEN 'catalog' WHEN nspname = 'reference' THEN 'reference tables' ELSE 'library' END FROM schema
     UNION
    SELECT c.relowner, 'shards' FROM schema s JOIN pg_class c ON c.relnamespace = s.oid WHERE s.is_shard
     UNION
    SELECT c.relowner, 'reference tables' FROM schema s JOIN pg_class c ON c.relnamespace = s.oid WHERE s.nspname = 'reference'
     UNION
    SELECT oid, 'shards' FROM wanted w JOIN pg_roles o ON o.rolname = ANY (w.owners)
     UNION
    SELECT oid, 'library' FROM wanted w JOIN pg_roles o ON o.rolname = w.library_owner),
owner AS (
    SELECT o.rolname, quote_ident(o.rolname) AS name, o.rolsuper, array_agg(DISTINCT w.part) AS parts,
           COALESCE(pg_has_role(r.oid, o.oid, 'USAGE') AND (s.version < 16 OR pg_has_role(r.oid, o.oid, 'SET')), false) AS has
      FROM owned w JOIN pg_roles o ON o.oid = w.owner, role r, server s
     WHERE o.oid IS DISTINCT FROM r.oid GROUP BY o.oid, o.rolname, o.rolsuper, r.oid, s.version),
-- Whoever deploys the library here does so as the role that owns it elsewhere.
library_to_be AS (
    SELECT o.oid, quote_ident(o.rolname) AS name FROM wanted w JOIN pg_roles o ON o.rolname = w.library_owner
     WHERE to_regnamespace('shardflake') IS NULL AND NOT o.rolsuper AND o.rolname <> w.rolname),
-- In each of the shards that there are now.
on_shards (works, why, tables, sequences) AS (
    VALUES (ARRAY['application'], 'to read and write in the shards, and to draw ids', 'SELECT, INSERT, UPDATE, DELETE', 'USAGE'),
           (ARRAY['doctor'], 'to compare rows, and ids with the clock', 'SELECT', 'SELECT')),
on_reference_tables (works, why, tables, sequences) AS (
    VALUES (ARRAY['application'], 'to read reference tables, and to write them on their home', 'SELECT, INSERT, UPDATE', 'USAGE'),
           (ARRAY['doctor'], 'to compare reference tables', 'SELECT', 'SELECT')),
-- What those execute of the library who do not own it.
library_function (works, name) AS (
    SELECT ARRAY['adopt'], 'shardflake.is_fenced(integer)'
     UNION ALL
    SELECT ARRAY['doctor'], unnest(ARRAY['shardflake.fences(integer)', 'shardflake.is_fenced(integer)', 'shardflake.relations(integer)', 'shardflake.checks(integer)', 'shardflake.shard_keys(integer)'])),
needed (works, turn, why, has, statement) AS (
    SELECT ARRAY['moves'], 1, 'to make replication slots, and to log in to the other server for replication',
           r.replicates OR COALESCE(pg_has_role(r.oid, s.rds_replication, 'MEMBER'), false),
           CASE WHEN s.rds_replication IS NULL THEN format('ALTER ROLE %s REPLICATION', r.name) ELSE format('GRANT rds_replication TO %s', r.name) END
      FROM role r, server s
     UNION ALL
    SELECT ARRAY['moves'], 2,
           CASE WHEN s.version < 16 THEN 'to create subscriptions, which on PostgreSQL 15 is for superusers and for what a provider has made one in this respect: use such a role, or PostgreSQL 16'
                ELSE 'to create subscriptions' END,
           COALESCE(pg_has_role(r.oid, s.creators, 'USAGE'), false) OR COALESCE(p.is_there, false),
           CASE WHEN s.version >= 16 THEN format('GRANT pg_create_subscription TO %s', r.name) END
      FROM role r, server s, provider p
     UNION ALL
    SELECT ARRAY['moves', 'deploy'], 3, 'to create schemas, publications and subscriptions',
           COALESCE(has_database_privilege(r.oid, current_database(), 'CREATE'), false), format('GRANT CREATE ON DATABASE %s TO %s', s.database, r.name)
      FROM role r, server s
     WHERE NOT EXISTS (SELECT FROM owner o WHERE NOT o.rolsuper AND has_database_privilege(o.rolname, current_database(), 'CREATE')) -- which is inherited
       AND NOT EXISTS (SELECT FROM library_to_be)
     UNION ALL
    SELECT ARRAY['moves', 'doctor'], 4, 'to see the sessions that others have, which hold locks and slots',
           COALESCE(pg_has_role(r.oid, s.observers, 'USAGE'), false), format('GRANT pg_read_all_stats TO %s', r.name)
      FROM role r, server s
     UNION ALL
    SELECT s.works, 7, 'to see every row of tables with row-level security, which otherwise are refused' || s.otherwise,
           r.sees, format('ALTER ROLE %s BYPASSRLS', r.name)
      FROM wanted w, LATERAL (SELECT r.name, COALESCE(a.rolbypassrls, false) AS sees FROM role r LEFT JOIN pg_roles a ON a.oid = r.oid) r,
           (VALUES (ARRAY['moves', 'adopt'], true, ', or take FORCE ROW LEVEL SECURITY from them for that time'), (ARRAY['doctor'], false, '')) s (works, as_owner, otherwise)
     WHERE (s.as_owner AND w.forced) OR EXISTS (
           SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname ~ '^(shard_[0-9]{4}|reference)$' AND c.relkind IN ('r', 'p') AND c.relrowsecurity AND (c.relforcerowsecurity OR NOT s.as_owner))
     UNION ALL
    SELECT CASE WHEN o.parts = '{catalog}' THEN ARRAY['moves', 'catalog of moves'] -- where a server has the catalog, too
                WHEN o.parts @> '{shards}' THEN ARRAY['moves', 'deploy', 'adopt', 'catalog of moves']
                ELSE ARRAY['moves', 'deploy', 'catalog of moves'] END, 10,
           format('to act as %s%s, which owns the %s', o.name, CASE WHEN o.rolsuper THEN ', a superuser, which no other role should be able to' ELSE '' END,
                  array_to_string(o.parts, ', ')),
           o.has, CASE WHEN NOT o.rolsuper THEN format('GRANT %s TO %s', o.name, r.name) END
      FROM owner o, role r
     UNION ALL
    SELECT ARRAY['catalog of deploy', 'catalog of adopt', 'catalog of application', 'catalog of doctor'], 1, 'to read the shard map',
           COALESCE(has_schema_privilege(r.oid, s.oid, 'USAGE')
                AND (SELECT bool_and(has_table_privilege(r.oid, c.oid, 'SELECT')) FROM pg_class c
                      WHERE c.relnamespace = s.oid AND c.relname IN ('shard', 'reference', 'reference_delete', 'lookup', 'split', 'adoption')), false),
           format('SELECT shardflake_catalog.grant_read(%L)', w.rolname)
      FROM wanted w, role r, schema s WHERE s.nspname = 'shardflake_catalog'
     UNION ALL
    SELECT ARRAY['catalog of adopt'], 3, 'to record adoptions, so that no move begins meanwhile',
           COALESCE(has_table_privilege(r.oid, c.oid, 'INSERT') AND has_table_privilege(r.oid, c.oid, 'DELETE'), false),
           format('GRANT INSERT, DELETE ON shardflake_catalog.adoption TO %s', r.name)
      FROM role r, pg_class c JOIN schema s ON s.oid = c.relnamespace
     WHERE s.nspname = 'shardflake_catalog' AND c.relname = 'adoption'
     UNION ALL
    SELECT ARRAY['catalog of doctor'], 2, 'to know which restore points there are', bool_and(COALESCE(has_table_privilege(r.oid, c.oid, 'SELECT'), false)),
           format('GRANT SELECT ON %s TO %s', string_agg(c.oid::regclass::text, ', ' ORDER BY c.oid::regclass::text), r.name)
      FROM role r, pg_class c JOIN schema s ON s.oid = c.relnamespace
     WHERE s.nspname = 'shardflake_catalog' AND c.relname IN ('restore_point', 'restore_point_server') GROUP BY r.name
     UNION ALL
    SELECT ARRAY['application', 'adopt', 'doctor'], 5, 'to call the function library', COALESCE(has_schema_privilege(r.oid, s.oid, 'USAGE'), false),
           format('GRANT USAGE ON SCHEMA shardflake TO %s', r.name)
      FROM role r, schema s WHERE s.nspname = 'shardflake'
     UNION ALL
    SELECT f.works, 6, 'to see which shards take writes', COALESCE(has_function_privilege(r.oid, to_regprocedure(f.name), 'EXECUTE'), false),
           format('GRANT EXECUTE ON FUNCTION %s TO %s', f.name, r.name)
      FROM role r, library_function f WHERE to_regprocedure(f.name) IS NOT NULL
     UNION ALL
    SELECT ARRAY['doctor'], 7, 'to know what was deployed, and what servers remember of shards and moves',
           COALESCE((SELECT bool_and(has_table_privilege(r.oid, c.oid, 'SELECT')) FROM pg_class c WHERE c.relnamespace = s.oid AND c.relkind = 'r'), false),
           format('GRANT USAGE ON SCHEMA %1$I TO %2$s; GRANT SELECT ON ALL TABLES IN SCHEMA %1$I TO %2$s', s.nspname, r.name)
      FROM role r, schema s WHERE s.nspname IN ('shardflake', 'shardflake_deploy')
     UNION ALL
    SELECT g.works, 20, g.why,
           COALESCE((SELECT bool_and(has_schema_privilege(r.oid, s.oid, 'USAGE')) FROM schema s WHERE s.is_shard), false),
           format('DO %L', format($text$DECLARE s name; BEGIN
    FOR s IN SELECT nspname FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$' LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %%1$I TO %%2$I; GRANT %2$s ON ALL TABLES IN SCHEMA %%1$I TO %%2$I; GRANT %3$s ON ALL SEQUENCES IN SCHEMA %%1$I TO %%2$I', s, %1$L);
    END LOOP;
END$text$, w.rolname, g.tables, g.sequences))
      FROM wanted w, role r, on_shards g
     UNION ALL
    SELECT g.works, 21, g.why,
           COALESCE(has_schema_privilege(r.oid, s.oid, 'USAGE')
                AND (SELECT COALESCE(bool_and(has_table_privilege(r.oid, c.oid, t.privilege)), true)
                       FROM pg_class c, unnest(string_to_array(g.tables, ', ')) t (privilege) WHERE c.relnamespace = s.oid AND c.relkind = 'r'), false),
           format('GRANT USAGE ON SCHEMA reference TO %1$s; GRANT %2$s ON ALL TABLES IN SCHEMA reference TO %1$s; GRANT %3$s ON ALL SEQUENCES IN SCHEMA reference TO %1$s',
                  r.name, g.tables, g.sequences)
      FROM role r, schema s, on_reference_tables g WHERE s.nspname = 'reference')
SELECT n.why, n.has OR r.is_superuser, n.statement FROM needed n, role r WHERE ? = ANY (n.works)
 UNION ALL
SELECT format('for %s to create the function library', l.name), has_database_privilege(l.oid, current_database(), 'CREATE'),
       format('GRANT CREATE ON DATABASE %s TO %s', s.database, l.name)
  FROM library_to_be l, server s WHERE ? = 'moves' -- a superuser needs it, too
