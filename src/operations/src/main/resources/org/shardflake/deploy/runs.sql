--liquibase formatted sql logicalFilePath:shardflake/runs.sql

--changeset shardflake:runs splitStatements:false stripComments:false
CREATE TABLE shardflake_run (
    run text COLLATE "C" PRIMARY KEY,
    digest text COLLATE "C" NOT NULL,
    rows bigint NOT NULL DEFAULT 0,
    done_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE shardflake_run IS 'The runs of shardflake sql --write that were committed in this shard';

-- Whoever writes to the shard's other tables writes to this one.
DO $$
DECLARE
    v_role text;
BEGIN
    FOR v_role IN
        SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
          FROM pg_class c, LATERAL aclexplode(c.relacl) a
         WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON shardflake_run TO %s', v_role);
    END LOOP;
END
$$;
--rollback DROP TABLE shardflake_run;
