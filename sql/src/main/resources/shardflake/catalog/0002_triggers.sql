--liquibase formatted sql logicalFilePath:shardflake/catalog/0002_triggers.sql

--changeset shardflake:catalog_triggers splitStatements:false stripComments:false
CREATE TRIGGER keep BEFORE UPDATE ON shardflake_catalog.installation
    FOR EACH ROW EXECUTE FUNCTION shardflake_catalog.keep_installation();
CREATE TRIGGER refuse BEFORE DELETE OR TRUNCATE ON shardflake_catalog.installation
    FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.refuse();
CREATE CONSTRAINT TRIGGER initialized AFTER INSERT ON shardflake_catalog.installation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shardflake_catalog.check_initialized();

CREATE TRIGGER record AFTER INSERT OR UPDATE OR DELETE ON shardflake_catalog.server
    FOR EACH ROW EXECUTE FUNCTION shardflake_catalog.record_server();
CREATE TRIGGER refuse BEFORE TRUNCATE ON shardflake_catalog.server
    FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.refuse();

CREATE TRIGGER keep BEFORE UPDATE ON shardflake_catalog.shard
    FOR EACH ROW EXECUTE FUNCTION shardflake_catalog.keep_placement();
CREATE TRIGGER check_all AFTER INSERT ON shardflake_catalog.shard
    REFERENCING NEW TABLE AS new_shard
    FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.check_shards();
CREATE TRIGGER refuse BEFORE DELETE OR TRUNCATE ON shardflake_catalog.shard
    FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.refuse();
CREATE TRIGGER record AFTER UPDATE ON shardflake_catalog.shard
    REFERENCING OLD TABLE AS old_shard NEW TABLE AS new_shard
    FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.record_placements();

CREATE TRIGGER refuse BEFORE UPDATE OR DELETE OR TRUNCATE ON shardflake_catalog.history
    FOR EACH STATEMENT EXECUTE FUNCTION shardflake_catalog.refuse();

--rollback DROP TRIGGER refuse ON shardflake_catalog.history;
--rollback DROP TRIGGER record ON shardflake_catalog.shard;
--rollback DROP TRIGGER refuse ON shardflake_catalog.shard;
--rollback DROP TRIGGER check_all ON shardflake_catalog.shard;
--rollback DROP TRIGGER keep ON shardflake_catalog.shard;
--rollback DROP TRIGGER refuse ON shardflake_catalog.server;
--rollback DROP TRIGGER record ON shardflake_catalog.server;
--rollback DROP TRIGGER initialized ON shardflake_catalog.installation;
--rollback DROP TRIGGER refuse ON shardflake_catalog.installation;
--rollback DROP TRIGGER keep ON shardflake_catalog.installation;
