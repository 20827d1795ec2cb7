--liquibase formatted sql logicalFilePath:shardflake/install/reference.sql

--changeset shardflake:reference_tables splitStatements:false stripComments:false
--preconditions onFail:MARK_RAN
--precondition-sql-check expectedResult:0 SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'reference_version' AND relnamespace = 'shardflake'::regnamespace
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE TABLE shardflake.reference_home (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    server text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('home', 'copy', 'closed'))
);
COMMENT ON TABLE shardflake.reference_home IS 'Where reference tables are written, as far as this server knows';
COMMENT ON COLUMN shardflake.reference_home.server IS 'The home, by its name in the shard map';
COMMENT ON COLUMN shardflake.reference_home.mode IS 'What this server is: the home, a copy, or closed while the home changes';

CREATE TABLE shardflake.reference_version (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version bigint NOT NULL,
    written_at timestamptz NOT NULL
);
INSERT INTO shardflake.reference_version (version, written_at) VALUES (0, clock_timestamp());
COMMENT ON TABLE shardflake.reference_version IS 'How far this server is with reference tables. Their home increases it in each transaction that writes to them, and it is replicated with them: a server with the same version has the same rows';

REVOKE ALL ON TABLE shardflake.reference_home, shardflake.reference_version FROM PUBLIC;
GRANT SELECT ON TABLE shardflake.reference_home, shardflake.reference_version TO PUBLIC;

--rollback DROP TABLE shardflake.reference_version, shardflake.reference_home;
