--liquibase formatted sql logicalFilePath:shardflake/internal/refuse_draw.sql

--changeset shardflake:refuse_draw runOnChange:true splitStatements:false stripComments:false
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE OR REPLACE FUNCTION shardflake.refuse_draw(shard integer, sequence regclass, last bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
/*
 * Says why by what the caller has seen, and looks at nothing again that may have changed since.
 */
DECLARE
    c_last_ms CONSTANT bigint := 1099511627775; -- 2^40 - 1: one more would be the sign bit
    v_clock_ms bigint := shardflake.clock_ms();
    v_kind record;
BEGIN
    PERFORM shardflake.check_shard(shard);
    IF (SELECT relnamespace FROM pg_class WHERE oid = sequence) = to_regnamespace(shardflake.shard_schema(shard)) IS NOT TRUE THEN
        RAISE EXCEPTION 'sequence % is not in schema %', COALESCE(sequence::text, 'NULL'), shardflake.shard_schema(shard)
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = format('Ids of shard %s are drawn from a sequence of its own schema.', shard);
    END IF;
    v_kind := pg_sequence_parameters(sequence::oid);
    IF v_kind.minimum_value <> -1125899906842624 OR v_kind.maximum_value <> 1125899906842623 THEN
        RAISE EXCEPTION 'sequence % is not one that ids are made from', sequence
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Create it with shardflake.add_id_sequence: MINVALUE -1125899906842624 MAXVALUE 1125899906842623.';
    END IF;
    IF NOT has_sequence_privilege(sequence, 'UPDATE') THEN
        RAISE EXCEPTION 'role %, which owns the function library, may not move sequence %', current_user, sequence
            USING ERRCODE = 'insufficient_privilege',
                  HINT = format('GRANT USAGE, UPDATE ON SEQUENCE %s TO %I;', sequence, current_user);
    END IF;
    IF last < 0 THEN -- see stop_ids
        RAISE EXCEPTION 'shard % makes no ids on this server', shard
            USING ERRCODE = 'SF001',
                  HINT = 'The shard is being moved or has moved: read the shard map again and retry on the server it names.';
    END IF;
    IF v_clock_ms - shardflake.epoch_ms() BETWEEN 0 AND c_last_ms THEN
        RAISE EXCEPTION 'sequence % has reached its last id', sequence
            USING ERRCODE = 'SF002',
                  HINT = 'The clock of this server was once far ahead, or this id layout has run out for its epoch.';
    END IF;
    RAISE EXCEPTION 'the clock says % UTC, but ids have times from % to % UTC',
            to_timestamp(v_clock_ms / 1000.0) AT TIME ZONE 'UTC',
            to_timestamp(shardflake.epoch_ms() / 1000.0) AT TIME ZONE 'UTC',
            to_timestamp((shardflake.epoch_ms() + c_last_ms) / 1000.0) AT TIME ZONE 'UTC'
        USING ERRCODE = 'SF002',
              HINT = 'Correct the clock of this server. If it is right, this id layout has run out for its epoch.';
END
$$;

COMMENT ON FUNCTION shardflake.refuse_draw(integer, regclass, bigint) IS 'Internal: raises the reason why advance_sequence cannot draw';

REVOKE EXECUTE ON FUNCTION shardflake.refuse_draw(integer, regclass, bigint) FROM PUBLIC;

--rollback DROP FUNCTION shardflake.refuse_draw(integer, regclass, bigint);
