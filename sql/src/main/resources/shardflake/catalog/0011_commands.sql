--liquibase formatted sql logicalFilePath:shardflake/catalog/0011_commands.sql

--changeset shardflake:catalog_commands splitStatements:false stripComments:false
ALTER TABLE shardflake_catalog.history DROP CONSTRAINT history_change_check;
ALTER TABLE shardflake_catalog.history ADD CONSTRAINT history_change_check CHECK (
    change IN ('initialized', 'server added', 'server changed', 'server removed', 'shard placed',
               'move started', 'move completed', 'move cancelled', 'command run'));
COMMENT ON COLUMN shardflake_catalog.history.reason IS
'The setting shardflake.reason of the transaction that made the change, and shardflake.origin of its session; of a command run, the command';

--rollback ALTER TABLE shardflake_catalog.history DROP CONSTRAINT history_change_check;
--rollback ALTER TABLE shardflake_catalog.history ADD CONSTRAINT history_change_check CHECK (change IN ('initialized', 'server added', 'server changed', 'server removed', 'shard placed', 'move started', 'move completed', 'move cancelled')) NOT VALID;
--rollback COMMENT ON COLUMN shardflake_catalog.history.reason IS 'The setting shardflake.reason of the transaction that made the change';
