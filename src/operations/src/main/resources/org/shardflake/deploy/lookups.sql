--liquibase formatted sql logicalFilePath:shardflake/lookups.sql

--changeset shardflake:lookups splitStatements:false stripComments:false
--validCheckSum: 1:any
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
    CHECK (is_void OR pg_catalog.num_nulls(value, held_by_uid, held_by_id) = 0)
);
CREATE INDEX shardflake_lookup_void ON shardflake_lookup_owner (written_at) WHERE is_void;
COMMENT ON TABLE shardflake_lookup_owner IS 'Which claims by rows of this shard are good, written with the row, and which never will be; the router writes it';

-- Roles that may insert into the shard's tables may write to these. PostgreSQL's schema comes first in the path, but a function or operator
-- of the shard wins if its argument types fit better, so all are qualified.
DO $$
DECLARE
    v_role pg_catalog.text;
BEGIN
    FOR v_role IN
        SELECT DISTINCT CASE WHEN a.grantee OPERATOR(pg_catalog.=) '0'::pg_catalog.oid THEN 'PUBLIC'
                             ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)::pg_catalog.text) END
          FROM pg_catalog.pg_class c, LATERAL pg_catalog.aclexplode(c.relacl) a
         WHERE c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema()::pg_catalog.text))
           AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}')
           AND a.privilege_type OPERATOR(pg_catalog.=) 'INSERT' AND a.grantee OPERATOR(pg_catalog.<>) c.relowner
    LOOP
        EXECUTE pg_catalog.format('GRANT SELECT, INSERT, UPDATE, DELETE ON shardflake_lookup, shardflake_lookup_owner TO %s', v_role);
    END LOOP;
END
$$;
--rollback DROP TABLE shardflake_lookup, shardflake_lookup_owner;
