--liquibase formatted sql logicalFilePath:shardflake/catalog/0010_splits.sql

--changeset shardflake:catalog_split splitStatements:false stripComments:false
CREATE TABLE shardflake_catalog.split (
    move bigint PRIMARY KEY,
    tag text NOT NULL UNIQUE CHECK (tag ~ '^m[0-9]+_[0-9a-f]{6}$'),
    source text NOT NULL UNIQUE REFERENCES shardflake_catalog.server (name),
    target text NOT NULL UNIQUE,
    target_url text NOT NULL CHECK (target_url ~ '^postgresql://'),
    shards text NOT NULL,
    phase text NOT NULL DEFAULT 'preparing' CHECK (phase IN ('preparing', 'promoting', 'moving')),
    claim bigint NOT NULL DEFAULT 0,
    standby_slot text,
    standby_started timestamptz,
    position bigint,
    next_xid bigint,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    begun_by text NOT NULL DEFAULT session_user,
    reason text NOT NULL DEFAULT '',
    CHECK (phase = 'preparing' OR (standby_started IS NOT NULL AND position IS NOT NULL AND next_xid IS NOT NULL)),
    CONSTRAINT split_url_holds_no_password CHECK (
        target_url !~* '://[^/?]*:[^/?@]*@' AND target_url !~* '[?&](ssl)?(p|%70)(a|%61)(s|%73)(s|%73)(w|%77)(o|%6f)(r|%72)(d|%64)=')
);
COMMENT ON TABLE shardflake_catalog.split IS 'Servers that are being split by their standby: it is promoted, and takes some of the shards over without a copy';
COMMENT ON COLUMN shardflake_catalog.split.move IS 'The number of the move that takes the shards over, which is recorded when the standby is promoted and closed';
COMMENT ON COLUMN shardflake_catalog.split.tag IS 'The move''s';
COMMENT ON COLUMN shardflake_catalog.split.target IS 'What the standby is called as a server; it is one from phase moving on';
COMMENT ON COLUMN shardflake_catalog.split.phase IS 'preparing: it is a standby. promoting: it may be promoted, and goes on only if it was at the position. moving: it is closed, and the move has its shards';
COMMENT ON COLUMN shardflake_catalog.split.claim IS 'Up by one whenever somebody takes the split up; the move goes on counting';
COMMENT ON COLUMN shardflake_catalog.split.standby_slot IS 'The source''s physical slot from which the standby streamed, empty for none';
COMMENT ON COLUMN shardflake_catalog.split.standby_started IS 'When the standby''s server was started, by which it is known not to have been restarted';
COMMENT ON COLUMN shardflake_catalog.split.position IS 'The place in the source''s write-ahead log up to which the standby has everything, and beyond which nothing, in bytes';
COMMENT ON COLUMN shardflake_catalog.split.next_xid IS 'At the position, no transaction with this number or a later one was committed';

--rollback DROP TABLE shardflake_catalog.split;

--changeset shardflake:catalog_split_read splitStatements:false stripComments:false
-- Whoever was let read the shard map reads this, too.
DO $$
DECLARE
    reader text;
BEGIN
    FOR reader IN
        SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::pg_catalog.regrole::text END
          FROM pg_catalog.pg_class c, LATERAL pg_catalog.aclexplode(c.relacl) a
         WHERE c.oid = 'shardflake_catalog.shard'::pg_catalog.regclass AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner
    LOOP
        EXECUTE pg_catalog.format('GRANT SELECT ON shardflake_catalog.split TO %s', reader);
    END LOOP;
END
$$;

--rollback empty
