/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;

/** Removes subscriptions and replication slots, each on its server, whatever the state of the other one. */
public final class Replication {

    private static final Duration SLOT_PATIENCE = Duration.ofSeconds(20);
    private static final String MAY_SEE_ORIGINS = """
            SELECT has_table_privilege('pg_catalog.pg_replication_origin_status', 'SELECT')
               AND has_function_privilege('pg_show_replication_origin_status()', 'EXECUTE')
            """;
    private static final String GOT = """
            SELECT (o.remote_lsn - '0/0')::bigint FROM pg_subscription s
              JOIN pg_replication_origin_status o ON o.external_id = 'pg_' || s.oid
             WHERE s.subname = ? AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            """;
    private static final int FAILOVER_SINCE = 170000;
    private static final String OBJECT_IN_USE = "55006";
    private static final String DROP_SLOT = "SELECT pg_drop_replication_slot(?)";

    private Replication() {}

    /**
     * Removes a subscription without its slot, whose server may be down.
     *
     * @param checkFirst SQL that fails if this must not be done
     */
    public static void dropSubscription(Connection connection, String name, String checkFirst) throws SQLException {
        Sql.execute(
                connection,
                checkFirst
                        + "ALTER SUBSCRIPTION %1$s DISABLE; ALTER SUBSCRIPTION %1$s SET (slot_name = NONE); DROP SUBSCRIPTION %1$s"
                                .formatted(name));
    }

    static boolean hasSlot(Connection connection, String name) throws SQLException {
        return Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ?)", name);
    }

    /**
     * Whether a slot came to this server in a failover, from a primary that kept it in step (PostgreSQL 17 and later). What the
     * subscriber has confirmed may be missing here then, and the other way round.
     */
    static boolean hasFailedOver(Connection connection, String name) throws SQLException {
        return Sql.isTrue(
                connection,
                "SELECT COALESCE((SELECT (to_jsonb(s) ->> 'synced')::boolean FROM pg_replication_slots s WHERE slot_name = ?), false)",
                name);
    }

    /**
     * Whether the subscriber has got more than the publisher has, which failed over to a standby that was behind. What is written there
     * now has positions in the log that the subscriber has seen already, so it is not sent. False also if the subscriber does not let us
     * look.
     */
    static boolean isAhead(Connection subscriber, Connection publisher, String name) throws SQLException {
        if (!Sql.isTrue(subscriber, MAY_SEE_ORIGINS)) {
            return false;
        }
        List<Long> got = Sql.list(subscriber, GOT, row -> row.getLong(1), name);
        return !got.isEmpty()
                && got.get(0) > Sql.number(publisher, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint");
    }

    /** Whether slots can be kept in step on standbys. */
    static boolean hasFailover(Connection connection) throws SQLException {
        return Sql.number(connection, "SELECT current_setting('server_version_num')::integer") >= FAILOVER_SINCE;
    }

    /** Removes an unused replication slot; after its subscription is dropped, a slot stays in use for a moment. */
    public static void dropIdleSlot(Connection connection, String name) throws SQLException {
        drop(connection, name, 200, () -> {});
    }

    /** Removes a replication slot if it exists, and ends the sender that uses it. */
    public static void dropSlot(Connection connection, String name) throws SQLException {
        drop(
                connection,
                name,
                50,
                () -> Sql.call(
                        connection,
                        "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = ? AND active",
                        name));
    }

    @FunctionalInterface
    private interface Before {
        void run() throws SQLException;
    }

    private static void drop(Connection connection, String name, long pauseMillis, Before before) throws SQLException {
        boolean gone = Poll.everyMillis(pauseMillis, SLOT_PATIENCE).until(() -> {
            before.run();
            return isDropped(connection, name);
        });
        if (!gone) {
            Sql.call(connection, DROP_SLOT, name); // Says who uses it.
        }
    }

    /** Whether the slot was removed and is not in use. */
    private static boolean isDropped(Connection connection, String name) throws SQLException {
        try {
            if (hasSlot(connection, name)) {
                Sql.call(connection, DROP_SLOT, name);
            }
            return true;
        } catch (SQLException e) {
            if (!OBJECT_IN_USE.equals(e.getSQLState())) {
                throw e;
            }
            return false;
        }
    }
}
