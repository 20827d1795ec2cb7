/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;

/**
 * The closure of a copy that is about to be removed: triggers on every table that refuse every row, from anyone. A fence lets replication pass,
 * and so anyone who passes for it.
 *
 * <p>One transaction makes all parts of a seal, and PostgreSQL keeps its number on each of them. Disabling a trigger and enabling it
 * again leaves another number. So an intact seal proves that nothing was written since it was put on.
 */
public final class Seal {

    private static final String FUNCTION = "shardflake_seal";

    private static final String PUT_ON = """
            DO $do$
            DECLARE
                v_table regclass;
            BEGIN
                PERFORM set_config('lock_timeout', '5s', true);
                DROP FUNCTION IF EXISTS %1$s.%2$s() CASCADE;
                CREATE FUNCTION %1$s.%2$s() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $trigger$
                BEGIN
                    RAISE EXCEPTION 'shard %% takes no writes on this server, where its copy is being removed', right(TG_TABLE_SCHEMA, 4)::integer
                        USING ERRCODE = 'SF001',
                              DETAIL = format('%%s on %%I.%%I met the seal of its shard.', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME),
                              HINT = 'The shard has moved: read the shard map again and write on the server it names.';
                END
                $trigger$;
                -- As others do it who lock a shard's tables: by name.
                FOR v_table IN
                    SELECT oid FROM pg_class WHERE relnamespace = '%1$s'::regnamespace AND relkind = 'r' ORDER BY relname COLLATE "C"
                LOOP
                    EXECUTE format('CREATE TRIGGER %2$s BEFORE INSERT OR UPDATE OR DELETE ON %%s FOR EACH ROW EXECUTE FUNCTION %1$s.%2$s()', v_table);
                    EXECUTE format('CREATE TRIGGER %2$s_truncate BEFORE TRUNCATE ON %%s FOR EACH STATEMENT EXECUTE FUNCTION %1$s.%2$s()', v_table);
                    EXECUTE format('ALTER TABLE %%s ENABLE ALWAYS TRIGGER %2$s, ENABLE ALWAYS TRIGGER %2$s_truncate', v_table);
                END LOOP;
            END
            $do$
            """;

    private static final String TAKE_OFF =
            "SELECT set_config('lock_timeout', '1s', true); DROP FUNCTION IF EXISTS %s.%s() CASCADE";

    private static final String SEALED = """
            SELECT right(n.nspname, 4)::integer FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
             WHERE p.proname = '%s' AND n.nspname = ANY (?)
            """.formatted(FUNCTION);

    /** Finds shards whose seal is broken: a table lacks one of its two triggers, or has a changed one. */
    private static final String BROKEN = """
            SELECT right(n.nspname, 4)::integer FROM pg_namespace n
              LEFT JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = '%s'
             WHERE n.nspname = ANY (?) AND (p.oid IS NULL OR EXISTS (
                SELECT FROM pg_class c
                 WHERE c.relnamespace = n.oid AND c.relkind = 'r' AND 2 <> (
                    SELECT count(*) FROM pg_trigger t
                     WHERE t.tgrelid = c.oid AND t.tgfoid = p.oid AND t.tgenabled = 'A' AND t.xmin = p.xmin)))
            """.formatted(FUNCTION);

    private Seal() {}

    /**
     * Seals copies, after waiting some seconds each for transactions that have written to them; readers continue.
     *
     * @throws MoveException if one of them does not end
     */
    public static void putOn(MoveServerSession side, ShardSet shards) throws SQLException {
        for (int shard : shards.stream().toArray()) {
            side.cancelAutovacuum(shard);
            try {
                Sql.execute(side.control(), side.checkClaim() + PUT_ON.formatted(Sharding.schema(shard), FUNCTION));
            } catch (SQLException e) {
                if (!Sql.isInTheWay(e)) {
                    throw e;
                }
                throw new MoveException(
                        "the copy of shard %s on %s is kept, since transactions there are still writing to it: %s. End them, and run the same command again"
                                .formatted(shard, side.name(), side.writers(shard)),
                        e);
            }
        }
    }

    public static void takeOff(MoveServerSession side, int shard) throws SQLException {
        Sql.execute(side.control(), side.checkClaim() + TAKE_OFF.formatted(Sharding.schema(shard), FUNCTION));
    }

    /** The shards, among the given ones, that have a seal, intact or not. */
    public static ShardSet sealed(Connection connection, ShardSet shards) throws SQLException {
        return ShardSet.of(Sql.list(connection, SEALED, row -> row.getInt(1), shards));
    }

    /** The shards, among the given ones, that exist without a seal or with a broken one. */
    public static ShardSet broken(MoveServerSession side, ShardSet shards) throws SQLException {
        return ShardSet.of(Sql.list(side.control(), BROKEN, row -> row.getInt(1), shards));
    }
}
