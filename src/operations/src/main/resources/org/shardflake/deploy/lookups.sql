--liquibase formatted sql logicalFilePath:shardflake/lookups.sql

--changeset shardflake:lookups splitStatements:false stripComments:false
-- A value is in the shard that its hash leads to; see the page of decisions 0041.
CREATE TABLE shardflake_lookup (
    lookup integer NOT NULL,
    value text COLLATE "C" NOT NULL,
    member text COLLATE "C" NOT NULL,
    held_by_uid bigint NOT NULL,
    held_by_id bigint NOT NULL,
    token uuid NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('new', 'held', 'leaving')),
    claimed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (lookup, value, member)
);
COMMENT ON TABLE shardflake_lookup IS 'The claims of values that belong to this shard, by rows of all shards; the router writes it';
COMMENT ON COLUMN shardflake_lookup.member IS 'Empty if one row can hold the value; otherwise the row''s uid and id, since each has a claim of its own';
COMMENT ON COLUMN shardflake_lookup.state IS 'new: the shard of held_by_uid knows whether the claim is good. held: it is. leaving: it was, and that shard knows whether it still is';

-- In the shard of the row that holds the value.
CREATE TABLE shardflake_lookup_owner (
    token uuid PRIMARY KEY,
    lookup integer NOT NULL,
    value text COLLATE "C",
    held_by_uid bigint,
    held_by_id bigint,
    is_void boolean NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (is_void OR num_nulls(value, held_by_uid, held_by_id) = 0)
);
CREATE INDEX shardflake_lookup_void ON shardflake_lookup_owner (written_at) WHERE is_void;
COMMENT ON TABLE shardflake_lookup_owner IS 'Which claims by rows of this shard are good, written with the row, and which never will be; the router writes it';

-- Whoever writes to the shard's other tables writes to these.
DO $$
DECLARE
    v_role text;
BEGIN
    FOR v_role IN
        SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
          FROM pg_class c, LATERAL aclexplode(c.relacl) a
         WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON shardflake_lookup, shardflake_lookup_owner TO %s', v_role);
    END LOOP;
END
$$;
--rollback DROP TABLE shardflake_lookup, shardflake_lookup_owner;
