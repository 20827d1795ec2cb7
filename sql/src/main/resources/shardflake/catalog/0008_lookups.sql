--liquibase formatted sql logicalFilePath:shardflake/catalog/0008_lookups.sql

--changeset shardflake:catalog_lookups splitStatements:false stripComments:false
CREATE TABLE shardflake_catalog.lookup (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z_][a-z0-9_.]{0,99}$'),
    is_unique boolean NOT NULL,
    ignores_case boolean NOT NULL,
    is_hashed boolean NOT NULL,
    table_name text,
    column_name text,
    uid_column text,
    id_column text,
    state text NOT NULL DEFAULT 'creating' CHECK (state IN ('creating', 'filling', 'ready', 'dropping')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text NOT NULL DEFAULT session_user,
    CHECK (num_nonnulls(table_name, column_name, uid_column, id_column) IN (0, 4))
);
COMMENT ON TABLE shardflake_catalog.lookup IS 'Lookups: each finds rows of all shards by a value. The values are in the shards, in table shardflake_lookup';
COMMENT ON COLUMN shardflake_catalog.lookup.number IS 'Stands for the name in the shards. Never used again, so values that a router writes after a lookup was dropped belong to no other';
COMMENT ON COLUMN shardflake_catalog.lookup.table_name IS 'The table of each shard whose rows are found, with the column of the values and those of uid and id; null for values that no one column holds';
COMMENT ON COLUMN shardflake_catalog.lookup.state IS 'creating: shards may lack the tables. filling: values are claimed, but those of older rows may be missing. ready: every row is found';

CREATE TABLE shardflake_catalog.lookup_backfill (
    lookup integer NOT NULL REFERENCES shardflake_catalog.lookup (number) ON DELETE CASCADE,
    shard integer NOT NULL,
    last_id bigint NOT NULL,
    claimed bigint NOT NULL,
    refused bigint NOT NULL,
    is_done boolean NOT NULL,
    PRIMARY KEY (lookup, shard)
);
COMMENT ON TABLE shardflake_catalog.lookup_backfill IS 'How far the rows of each shard have been read to claim their values';

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
        EXECUTE pg_catalog.format('GRANT SELECT ON shardflake_catalog.lookup, shardflake_catalog.lookup_backfill TO %s', reader);
    END LOOP;
END
$$;

--rollback DROP TABLE shardflake_catalog.lookup_backfill, shardflake_catalog.lookup;
