--liquibase formatted sql logicalFilePath:shardflake/catalog/0013_adoptions.sql

--changeset shardflake:catalog_adoptions splitStatements:false stripComments:false
CREATE TABLE shardflake_catalog.adoption (
    id uuid PRIMARY KEY,
    source text NOT NULL,
    database text NOT NULL,
    target text NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    begun_by text NOT NULL DEFAULT session_user
);
COMMENT ON TABLE shardflake_catalog.adoption IS 'Tables of other databases that are being brought into the shards. No move begins meanwhile, and none of them during a move';
COMMENT ON COLUMN shardflake_catalog.adoption.id IS 'The same as in schema shardflake_adopt of the old database, which has the progress';
COMMENT ON COLUMN shardflake_catalog.adoption.source IS 'The old table, with its schema';
COMMENT ON COLUMN shardflake_catalog.adoption.database IS 'Where the old table is, without a password';
COMMENT ON COLUMN shardflake_catalog.adoption.target IS 'The table in every shard';

-- Roles that could read the shard map read this, too.
DO $$
DECLARE
    reader text;
BEGIN
    FOR reader IN
        SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END
          FROM pg_catalog.pg_class c, LATERAL pg_catalog.aclexplode(c.relacl) a
         WHERE c.oid = 'shardflake_catalog.shard'::pg_catalog.regclass AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner
    LOOP
        EXECUTE pg_catalog.format('GRANT SELECT ON shardflake_catalog.adoption TO %s', reader);
    END LOOP;
END
$$;

--rollback DROP TABLE shardflake_catalog.adoption;
