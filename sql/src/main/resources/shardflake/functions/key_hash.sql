--liquibase formatted sql logicalFilePath:shardflake/functions/key_hash.sql

--changeset shardflake:key_hash runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.key_hash(key text) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ('x' || encode(substr(sha256(convert_to(key, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint;

COMMENT ON FUNCTION shardflake.key_hash(text) IS
'The uid that a text stands for: the first 8 bytes of the SHA-256 of its UTF-8 form, big-endian. Will never change, and equals ShardKey.hash in Java. ''alice'' gives 3159282601090220207';

CREATE OR REPLACE FUNCTION shardflake.key_hash(key uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ('x' || encode(substr(sha256(uuid_send(key)), 1, 8), 'hex'))::bit(64)::bigint;

COMMENT ON FUNCTION shardflake.key_hash(uuid) IS
'The uid that a UUID stands for: the first 8 bytes of the SHA-256 of its 16 bytes, big-endian. Will never change, and equals ShardKey.hash in Java';

--rollback DROP FUNCTION shardflake.key_hash(text);
--rollback DROP FUNCTION shardflake.key_hash(uuid);
