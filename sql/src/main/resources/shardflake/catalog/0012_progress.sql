--liquibase formatted sql logicalFilePath:shardflake/catalog/0012_progress.sql

--changeset shardflake:catalog_progress splitStatements:false stripComments:false
ALTER TABLE shardflake_catalog.move_shard ADD COLUMN bytes_at timestamptz;
COMMENT ON COLUMN shardflake_catalog.move_shard.bytes_at IS 'When that many bytes had been copied, by which the pace is known between two reports';

--rollback ALTER TABLE shardflake_catalog.move_shard DROP COLUMN bytes_at;
