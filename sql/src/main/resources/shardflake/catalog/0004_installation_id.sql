--liquibase formatted sql logicalFilePath:shardflake/catalog/0004_installation_id.sql

--changeset shardflake:catalog_installation_id splitStatements:false stripComments:false
ALTER TABLE shardflake_catalog.installation ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid();
COMMENT ON COLUMN shardflake_catalog.installation.id IS 'Tells this installation from others, such as those for tests, where something elsewhere belongs to it. Never changes';

--rollback ALTER TABLE shardflake_catalog.installation DROP COLUMN id;
