--liquibase formatted sql logicalFilePath:shardflake/internal/publish_shard.sql

--changeset shardflake:publish_shard runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.publish_shard(shard integer) RETURNS integer
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * In a cutover the fence has locked the tables already, so this waits for the publication only. Partitions go with their
 * partitioned table, also those that are attached later. A table without a replica identity stays out: in a publication,
 * it would refuse the application's UPDATE and DELETE.
 */
DECLARE
    v_publication oid := (SELECT oid FROM pg_publication WHERE pubname = 'shardflake_cdc');
    v_here boolean;
    v_tables text[];
BEGIN
    IF v_publication IS NULL THEN
        RETURN 0;
    END IF;
    v_here := NOT EXISTS (SELECT FROM shardflake.placement p WHERE p.shard = publish_shard.shard AND NOT p.here);
    v_tables := ARRAY(
        SELECT format('ONLY %s', c.oid::regclass)
          FROM shardflake.relations(shard) relation
          JOIN pg_class c ON c.oid = relation
         WHERE v_here <> EXISTS (SELECT FROM pg_publication_rel r WHERE r.prpubid = v_publication AND r.prrelid = c.oid)
           AND (NOT v_here OR shardflake.is_publishable(c.oid))
         ORDER BY c.relname COLLATE "C");
    IF cardinality(v_tables) > 0 THEN
        EXECUTE format('ALTER PUBLICATION shardflake_cdc %s TABLE %s', CASE WHEN v_here THEN 'ADD' ELSE 'DROP' END, array_to_string(v_tables, ', '));
    END IF;
    RETURN cardinality(v_tables);
END
$$;

COMMENT ON FUNCTION shardflake.publish_shard(integer) IS
'Internal: has the publication shardflake_cdc, if there is one, send changes of a shard''s tables exactly if the shard is this server''s. Returns how many tables it added or removed';

REVOKE EXECUTE ON FUNCTION shardflake.publish_shard(integer) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.publish_shard(integer);

--changeset shardflake:is_publishable runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.is_publishable(target oid) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM pg_class c
          LEFT JOIN pg_index x ON x.indrelid = c.oid AND CASE c.relreplident WHEN 'i' THEN x.indisreplident WHEN 'd' THEN x.indisprimary END
         WHERE c.oid = target AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
           AND (c.relreplident = 'f' OR x.indimmediate AND x.indisvalid AND x.indisready))
$$;

COMMENT ON FUNCTION shardflake.is_publishable(oid) IS
'Internal: whether a table belongs in the publication shardflake_cdc when its shard does. A partition does not: its partitioned table does';

REVOKE EXECUTE ON FUNCTION shardflake.is_publishable(oid) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.is_publishable(oid);
