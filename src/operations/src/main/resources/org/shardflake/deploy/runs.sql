--liquibase formatted sql logicalFilePath:shardflake/runs.sql

--changeset shardflake:runs splitStatements:false stripComments:false
--validCheckSum: 1:any
CREATE TABLE shardflake_run (
    run text COLLATE "C" PRIMARY KEY,
    digest text COLLATE "C" NOT NULL,
    rows bigint NOT NULL DEFAULT 0,
    done_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE shardflake_run IS 'The runs of shardflake sql --write that were committed in this shard';

-- Roles that may insert into the shard's tables may write to this one. PostgreSQL's schema comes first in the path, but a function or operator
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
        EXECUTE pg_catalog.format('GRANT SELECT, INSERT, UPDATE, DELETE ON shardflake_run TO %s', v_role);
    END LOOP;
END
$$;
--rollback DROP TABLE shardflake_run;
