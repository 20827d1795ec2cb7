--liquibase formatted sql logicalFilePath:shardflake/catalog/0009_gateways.sql

--changeset shardflake:catalog_gateway splitStatements:false stripComments:false
CREATE TABLE shardflake_catalog.gateway (
    name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_]{0,29}$'),
    url text NOT NULL CHECK (url ~ '^postgresql://'),
    schema_name text NOT NULL CHECK (schema_name ~ '^[a-z][a-z0-9_]{0,29}$'),
    reader text NOT NULL,
    map_version bigint NOT NULL DEFAULT 0,
    refreshed_at timestamptz,
    problem text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (url, schema_name),
    CONSTRAINT gateway_url_holds_no_password CHECK (
        url !~* '://[^/?]*:[^/?@]*@' AND url !~* '[?&](ssl)?(p|%70)(a|%61)(s|%73)(s|%73)(w|%77)(o|%6f)(r|%72)(d|%64)=')
);
COMMENT ON TABLE shardflake_catalog.gateway IS 'Databases with tables over all shards, to be brought along when shards move';
COMMENT ON COLUMN shardflake_catalog.gateway.reader IS 'The role that logs in to the servers for it';
COMMENT ON COLUMN shardflake_catalog.gateway.map_version IS 'The version of the shard map that it was last brought to';
COMMENT ON COLUMN shardflake_catalog.gateway.problem IS 'Why it could not be brought further';

-- Whoever was let read the shard map reads these, too.
DO $$
DECLARE
    reader text;
BEGIN
    FOR reader IN
        SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::pg_catalog.regrole::text END
          FROM pg_catalog.pg_class c, LATERAL pg_catalog.aclexplode(c.relacl) a
         WHERE c.oid = 'shardflake_catalog.shard'::pg_catalog.regclass AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner
    LOOP
        EXECUTE pg_catalog.format('GRANT SELECT ON shardflake_catalog.gateway TO %s', reader);
    END LOOP;
END
$$;

--rollback DROP TABLE shardflake_catalog.gateway;
