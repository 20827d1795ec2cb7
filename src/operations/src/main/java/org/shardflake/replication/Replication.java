/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.replication;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.SqlText;

/** Creates and removes subscriptions and replication slots, each on its server, whatever the state of the other server. */
public final class Replication {

    /** Creates a temporary table for the connection string, since data that COPY brings is not logged. */
    private static final String SECRET = "CREATE TEMPORARY TABLE shardflake_conninfo (conninfo text) ON COMMIT DROP";

    /** A block that catches errors, since the server would log the text of a failed statement and of those around it. */
    private static final String WITH_SECRET = """
            DO $$ BEGIN
                EXECUTE format(
                    '%s',
                    (SELECT conninfo FROM pg_temp.shardflake_conninfo));
            EXCEPTION WHEN OTHERS THEN
                RAISE EXCEPTION USING MESSAGE = SQLERRM, ERRCODE = SQLSTATE;
            END $$;
            DROP TABLE pg_temp.shardflake_conninfo
            """;

    private static final String CREATE_SUBSCRIPTION =
            "CREATE SUBSCRIPTION %1$s CONNECTION %%L PUBLICATION %2$s WITH (create_slot = false, slot_name = %1$s, enabled = false, copy_data = false, streaming = off%3$s)";

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
    private static final Duration LOOKUP_PATIENCE = Duration.ofSeconds(5);
    private static final String PUBLISHED = """
            SELECT format('%I.%I', n.nspname, c.relname), c.oid, n.nspname = 'shardflake'
              FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid
              JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE p.pubname = ?
            """;
    private static final String WRITERS = """
            SELECT COALESCE(string_agg(DISTINCT l.virtualtransaction, ','), '')
              FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid AND a.state IS DISTINCT FROM 'idle in transaction'
             WHERE l.mode = 'RowExclusiveLock' AND l.relation = ANY (string_to_array(?, ',')::oid[])
               AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """;
    private static final String ARE_DONE =
            "SELECT NOT EXISTS (SELECT FROM pg_locks WHERE virtualtransaction = ANY (string_to_array(?, ',')))";
    private static final String DROP_SLOT = "SELECT pg_drop_replication_slot(?)";

    private Replication() {}

    /**
     * The options of a subscription on servers that fail over. The slot and the subscription must agree that standbys keep the slot. A
     * subscriber with synchronous standbys waits for them before it confirms what they might otherwise lack when one of them takes over.
     */
    public static String safeOptions(Connection publisher, Connection subscriber) throws SQLException {
        boolean keepsSlots = hasFailover(subscriber) && hasFailover(publisher);
        boolean waits = Sql.isTrue(subscriber, "SELECT current_setting('synchronous_standby_names') <> ''");
        return (keepsSlots ? ", failover = true" : "") + (waits ? ", synchronous_commit = on" : "");
    }

    /**
     * Creates a disabled subscription, in a transaction that the caller ends.
     *
     * <p>The connection string may contain a password, which a server would write into its log and show to others as the text of a
     * statement or as its parameter. It would also be in the context of a warning that the publication does not exist, unless the role
     * {@link #silencesTheLog}.
     */
    public static void createSubscription(
            Connection connection, String name, String publication, String conninfo, String options)
            throws SQLException {
        withSecret(connection, conninfo, CREATE_SUBSCRIPTION.formatted(name, publication, options));
    }

    /** Changes a subscription's connection string, in a transaction that the caller ends, without logging the string. */
    public static void changeConnection(Connection connection, String name, String conninfo) throws SQLException {
        withSecret(connection, conninfo, "ALTER SUBSCRIPTION %s CONNECTION %%L".formatted(name));
    }

    /** @param statement with {@code %L} for the connection string */
    private static void withSecret(Connection connection, String conninfo, String statement) throws SQLException {
        if (silencesTheLog(connection)) {
            Sql.execute(connection, "SET LOCAL log_min_messages = 'panic'");
        }
        Sql.execute(connection, SECRET);
        byte[] line = SqlText.copied(conninfo).concat("\n").getBytes(UTF_8);
        try {
            CopyIn copy = connection
                    .unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn("COPY pg_temp.shardflake_conninfo FROM STDIN");
            copy.writeToCopy(line, 0, line.length);
            copy.endCopy();
        } catch (SQLException e) {
            throw Sql.named(connection, e);
        }
        Sql.execute(connection, WITH_SECRET.formatted(statement));
    }

    /** Whether the role may keep its warnings out of the server's log. */
    public static boolean silencesTheLog(Connection connection) throws SQLException {
        return Sql.isTrue(connection, "SELECT has_parameter_privilege('log_min_messages', 'SET')");
    }

    /** Creates a slot, which standbys keep where they can, after waiting for transactions that have written on the server. */
    public static void createSlot(Connection connection, String name) throws SQLException {
        Sql.call(
                connection,
                hasFailover(connection)
                        ? "SELECT pg_create_logical_replication_slot(?, 'pgoutput', failover => true)"
                        : "SELECT pg_create_logical_replication_slot(?, 'pgoutput')",
                name);
    }

    public static boolean hasSubscription(Connection connection, String name) throws SQLException {
        return Sql.isTrue(
                connection,
                "SELECT EXISTS (SELECT FROM pg_subscription WHERE subname = ? AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()))",
                name);
    }

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

    public static boolean hasSlot(Connection connection, String name) throws SQLException {
        return Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ?)", name);
    }

    /** Whether a slot exists and still has the write-ahead log that it needs. */
    public static boolean keepsLog(Connection connection, String name) throws SQLException {
        return Sql.isTrue(
                connection,
                "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ? AND wal_status IS DISTINCT FROM 'lost')",
                name);
    }

    /**
     * Whether a failover brought a slot to this server, from a primary that kept it in step (PostgreSQL 17 and later). What the subscriber has
     * confirmed may be missing here then, and the other way round.
     */
    public static boolean hasFailedOver(Connection connection, String name) throws SQLException {
        return Sql.isTrue(
                connection,
                "SELECT COALESCE((SELECT (to_jsonb(s) ->> 'synced')::boolean FROM pg_replication_slots s WHERE slot_name = ?), false)",
                name);
    }

    /**
     * Whether the subscriber has received more than the publisher has, after a failover to a standby that was behind. What is written there now
     * has positions in the log that the subscriber has seen already, so it is not sent. False also if the subscriber does not let us look.
     */
    public static boolean isAhead(Connection subscriber, Connection publisher, String name) throws SQLException {
        if (!maySeeOrigins(subscriber)) {
            return false;
        }
        List<Long> got = Sql.list(subscriber, GOT, row -> row.getLong(1), name);
        return !got.isEmpty()
                && got.get(0) > Sql.number(publisher, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint");
    }

    static boolean maySeeOrigins(Connection connection) throws SQLException {
        return Sql.isTrue(connection, MAY_SEE_ORIGINS);
    }

    /** Whether slots can be kept in step on standbys. */
    public static boolean hasFailover(Connection connection) throws SQLException {
        return Sql.number(connection, "SELECT current_setting('server_version_num')::integer") >= FAILOVER_SINCE;
    }

    /** A table of a publication. */
    public record Published(String table, long oid, boolean isOwn) {}

    /** The tables of a publication, including Shardflake's own. */
    public static List<Published> published(Connection connection, String name) throws SQLException {
        return Sql.list(
                connection, PUBLISHED, row -> new Published(row.getString(1), row.getLong(2), row.getBoolean(3)), name);
    }

    /**
     * Removes a publication if it exists, without disturbing writers of its tables. An UPDATE or DELETE reads which publications a table is in,
     * then looks each of them up, and fails if one was dropped in between. So the tables leave the publication first, and it is dropped once
     * the statements that may have read it are done.
     *
     * @param connection in auto-commit mode
     * @param checkFirst SQL that fails if this must not be done
     */
    public static void dropPublication(Connection connection, String name, String checkFirst) throws SQLException {
        List<Published> published = published(connection, name);
        if (!published.isEmpty()) {
            String tables = published.stream().map(Published::table).collect(joining(", "));
            Sql.execute(connection, checkFirst + "ALTER PUBLICATION %s DROP TABLE %s".formatted(name, tables));
            awaitWriters(
                    connection,
                    published.stream().map(its -> String.valueOf(its.oid())).collect(joining(",")));
        }
        Sql.execute(connection, checkFirst + "DROP PUBLICATION IF EXISTS " + name);
    }

    /** Waits for the transactions that are writing to these tables now. Not for long: a statement looks publications up when it begins. */
    private static void awaitWriters(Connection connection, String tables) throws SQLException {
        String writers = Sql.text(connection, WRITERS, tables);
        Poll.everyMillis(5, LOOKUP_PATIENCE).until(() -> Sql.isTrue(connection, ARE_DONE, writers));
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
