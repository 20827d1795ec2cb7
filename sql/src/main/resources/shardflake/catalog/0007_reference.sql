--liquibase formatted sql logicalFilePath:shardflake/catalog/0007_reference.sql

--changeset shardflake:catalog_reference splitStatements:false stripComments:false
CREATE TABLE shardflake_catalog.reference (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    home text NOT NULL REFERENCES shardflake_catalog.server (name),
    tag text NOT NULL CHECK (tag ~ '^r[0-9]+_[0-9a-f]{6}$'),
    next_home text REFERENCES shardflake_catalog.server (name),
    next_tag text CHECK (next_tag ~ '^r[0-9]+_[0-9a-f]{6}$'),
    old_home text REFERENCES shardflake_catalog.server (name),
    old_tag text CHECK (old_tag ~ '^r[0-9]+_[0-9a-f]{6}$'),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((next_home IS NULL) = (next_tag IS NULL) AND (old_home IS NULL) = (old_tag IS NULL))
);
COMMENT ON TABLE shardflake_catalog.reference IS 'Where reference tables are written; no row if there are none';
COMMENT ON COLUMN shardflake_catalog.reference.tag IS 'Names the publication of the home, shardflake_r1_a1b2c3, and with a digest of each other server''s name its slot and subscription. A new one for each home';
COMMENT ON COLUMN shardflake_catalog.reference.next_home IS 'The home to be, while it is changed';
COMMENT ON COLUMN shardflake_catalog.reference.old_home IS 'The home before, until nothing of its streams is left';

CREATE TABLE shardflake_catalog.reference_delete (
    table_name text NOT NULL,
    key text[] NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    begun_by text NOT NULL DEFAULT session_user,
    PRIMARY KEY (table_name, key)
);
COMMENT ON TABLE shardflake_catalog.reference_delete IS 'Rows of reference tables that are being deleted on all servers: some may have them no longer, so the same command has to be run again';

-- Whoever was let read the shard map reads these, too.
DO $$
DECLARE
    reader oid;
BEGIN
    FOR reader IN
        SELECT DISTINCT a.grantee FROM pg_catalog.pg_class c, LATERAL pg_catalog.aclexplode(c.relacl) a
         WHERE c.oid = 'shardflake_catalog.shard'::pg_catalog.regclass AND a.privilege_type = 'SELECT' AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE pg_catalog.format('GRANT SELECT ON shardflake_catalog.reference, shardflake_catalog.reference_delete TO %s', reader::pg_catalog.regrole);
    END LOOP;
END
$$;

--rollback DROP TABLE shardflake_catalog.reference_delete, shardflake_catalog.reference;
