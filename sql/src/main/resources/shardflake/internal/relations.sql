--liquibase formatted sql logicalFilePath:shardflake/internal/relations.sql

--changeset shardflake:relations runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.relations(shard integer) RETURNS SETOF regclass
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 20 -- not 1000, for which indexes would not be used
    SET search_path = pg_catalog, pg_temp
AS $$
    -- By what depends on the schema: for that there is an index, and none on the schema in pg_class, where a server
    -- with thousands of shards has a hundred thousand rows.
    SELECT objid::regclass
      FROM pg_depend
     WHERE refclassid = 'pg_namespace'::regclass AND refobjid = to_regnamespace(shardflake.shard_schema(shard))
       AND classid = 'pg_class'::regclass AND objsubid = 0
$$;

COMMENT ON FUNCTION shardflake.relations(integer) IS
'Internal: the tables, views and sequences of a shard, in no order';

REVOKE EXECUTE ON FUNCTION shardflake.relations(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.relations(integer);
