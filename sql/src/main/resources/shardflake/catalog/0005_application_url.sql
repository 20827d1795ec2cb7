--liquibase formatted sql logicalFilePath:shardflake/catalog/0005_application_url.sql

--changeset shardflake:catalog_application_url splitStatements:false stripComments:false
ALTER TABLE shardflake_catalog.server
    ADD COLUMN application_url text CHECK (application_url ~ '^postgresql://'),
    ADD CONSTRAINT server_application_url_key UNIQUE (application_url) DEFERRABLE,
    ADD CONSTRAINT application_url_holds_no_password CHECK (
        application_url !~* '://[^/?]*:[^/?@]*@' AND application_url !~* '[?&](ssl)?(p|%70)(a|%61)(s|%73)(s|%73)(w|%77)(o|%6f)(r|%72)(d|%64)=');
COMMENT ON COLUMN shardflake_catalog.server.application_url IS 'Where routers connect instead, such as a pooler before the server; null if they use url, as commands and other servers always do';

--rollback ALTER TABLE shardflake_catalog.server DROP COLUMN application_url;
