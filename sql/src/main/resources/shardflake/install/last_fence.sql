--liquibase formatted sql logicalFilePath:shardflake/install/last_fence.sql

--changeset shardflake:last_fence splitStatements:false stripComments:false
--preconditions onFail:MARK_RAN
--precondition-sql-check expectedResult:0 SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'last_fence' AND relnamespace = 'shardflake'::regnamespace
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE SEQUENCE shardflake.last_fence MINVALUE -9223372036854775808;
SELECT setval('shardflake.last_fence', hashtextextended(gen_random_uuid()::text, 0));

COMMENT ON SEQUENCE shardflake.last_fence IS 'The number of the latest fence on this server, a random one. A sequence, so that it is seen at once, whatever the snapshot';

REVOKE ALL ON SEQUENCE shardflake.last_fence FROM PUBLIC;
GRANT SELECT ON SEQUENCE shardflake.last_fence TO PUBLIC;

--rollback DROP SEQUENCE shardflake.last_fence;
