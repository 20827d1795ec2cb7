-- Prints what Trino needs to know of each server of a gateway: the name of a catalog, and its connection-url.
-- Run it in the gateway's database.
SELECT lower(s.srvname) AS catalog,
       format(
           'jdbc:postgresql://%s/%s?targetServerType=primary&ApplicationName=trino%s',
           (SELECT string_agg(CASE WHEN a.host LIKE '%:%' THEN '[' || a.host || ']' ELSE a.host END || ':' || a.port, ',' ORDER BY a.n)
              FROM ROWS FROM (
                  string_to_table(o.options ->> 'host', ','),
                  string_to_table(o.options ->> 'port', ',')
              ) WITH ORDINALITY AS a (host, port, n)),
           o.options ->> 'dbname',
           (SELECT string_agg('&' || tls.key || '=' || tls.value, '' ORDER BY tls.key)
              FROM jsonb_each_text(o.options) AS tls
             WHERE tls.key IN ('sslmode', 'sslrootcert'))
       ) AS connection_url
  FROM pg_foreign_server s
 CROSS JOIN LATERAL (SELECT jsonb_object_agg(option_name, option_value) AS options FROM pg_options_to_table(s.srvoptions)) AS o
 WHERE obj_description(s.oid, 'pg_foreign_server') LIKE 'Made by shardflake gateway %'
 ORDER BY 1;
