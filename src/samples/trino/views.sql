-- Prints a view for Trino of each table of a gateway: the rows of all shards, from the views that the gateway has on the servers.
-- Run it in the gateway's database, and what it prints in Trino.
WITH part AS (
    SELECT t.oid AS table_oid, t.relname AS table_name, f.ftrelid, lower(s.srvname) AS catalog,
           (SELECT option_value FROM pg_options_to_table(f.ftoptions) WHERE option_name = 'schema_name') AS schema_name,
           (SELECT option_value FROM pg_options_to_table(f.ftoptions) WHERE option_name = 'table_name') AS view_name,
           (SELECT attname FROM pg_attribute WHERE attrelid = t.oid AND attnum = 1) AS shard_column
      FROM pg_class t
      JOIN pg_inherits i ON i.inhparent = t.oid
      JOIN pg_foreign_table f ON f.ftrelid = i.inhrelid
      JOIN pg_foreign_server s ON s.oid = f.ftserver
     WHERE obj_description(t.relnamespace, 'pg_namespace') LIKE 'Made by shardflake gateway %'
       AND t.relkind = 'p'
),
-- The shards of a part as ranges, so that a query of one shard reads one part.
range AS (
    SELECT ftrelid, min(shard) AS first, max(shard) AS last
      FROM (
          SELECT p.ftrelid, shard, shard - row_number() OVER (PARTITION BY p.ftrelid ORDER BY shard) AS run
            FROM part p
            JOIN pg_class c ON c.oid = p.ftrelid
           CROSS JOIN LATERAL (
               SELECT m[1]::integer AS shard FROM regexp_matches(pg_get_expr(c.relpartbound, c.oid), '\d+', 'g') AS m
           ) AS shards
      ) AS numbered
     GROUP BY ftrelid, run
),
condition AS (
    SELECT p.ftrelid, string_agg(format('"%s" BETWEEN %s AND %s', p.shard_column, r.first, r.last), ' OR ' ORDER BY r.first) AS text
      FROM part p
      JOIN range r USING (ftrelid)
     GROUP BY p.ftrelid
),
-- Views do not know how many digits a numeric has, so Trino takes it for a text.
columns AS (
    SELECT t.table_oid, string_agg(CASE WHEN is_decimal THEN format('CAST(%1$s AS %2$s) AS %1$s', name, replace(type, 'numeric', 'decimal')) ELSE name END,
                                   ', ' ORDER BY attnum) AS list
      FROM (SELECT DISTINCT table_oid FROM part) AS t
     CROSS JOIN LATERAL (
         SELECT attnum, '"' || replace(attname, '"', '""') || '"' AS name, format_type(atttypid, atttypmod) AS type,
                atttypid = 'numeric'::regtype AND format_type(atttypid, atttypmod) ~ '\((\d|[12]\d|3[0-8]),\d+\)' AS is_decimal
           FROM pg_attribute
          WHERE attrelid = t.table_oid AND attnum > 0 AND NOT attisdropped
     ) AS a
     GROUP BY t.table_oid
)
-- PostgreSQL does not tell the shards of a part that is dropped by a refresh while this runs: a view without that part must not be.
SELECT CASE
           WHEN count(condition.text) < count(*) THEN (p.table_name || ': the gateway was refreshed meanwhile, run this again')::integer::text
           ELSE format('CREATE OR REPLACE VIEW "%s" AS', replace(p.table_name, '"', '""'))
                || string_agg(
                       format(E'\nSELECT %s FROM "%s"."%s"."%s" WHERE %s',
                              columns.list, p.catalog, p.schema_name, replace(p.view_name, '"', '""'), condition.text),
                       E'\nUNION ALL' ORDER BY p.catalog, p.ftrelid)
                || ';'
       END
  FROM part p
  JOIN columns USING (table_oid)
  LEFT JOIN condition USING (ftrelid)
 GROUP BY p.table_oid, p.table_name
 ORDER BY p.table_name;
