/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.replication;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Move;
import org.shardflake.server.SessionFailedException;

/** The reason why a subscriber does not follow, as far as both servers show it. PostgreSQL writes a subscription's error only to its log. */
public record StreamTrouble(String what, Outlook outlook) {

    /** The chances that a problem resolves by itself. */
    public enum Outlook {
        /** The move has lost something that it needs and has to be ended, see {@link Move#wayOut}. */
        ENDING,
        /** Someone has to fix the problem. */
        LASTING,
        /** The server retries and may recover soon. */
        PASSING,
        /** The server waits for something else to end. */
        WAITING
    }

    private static final String SUBSCRIPTION = """
            SELECT s.subenabled, COALESCE(e.apply_error_count + e.sync_error_count, 0)
              FROM pg_subscription s
              LEFT JOIN pg_stat_subscription_stats e ON e.subid = s.oid
             WHERE s.subname = ? AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            """;

    /** Whether a publisher's slot is lost. */
    private static final String SLOT =
            "SELECT COALESCE(wal_status = 'lost', false) FROM pg_replication_slots WHERE slot_name = ?";

    private static final String NO_WORKER_LEFT = """
            SELECT NOT EXISTS (SELECT FROM pg_stat_subscription WHERE subname = ? AND pid IS NOT NULL)
               AND (SELECT count(*) FROM pg_stat_subscription WHERE pid IS NOT NULL) >= current_setting('max_logical_replication_workers')::integer
            """;

    /** The limit on replication origins; before PostgreSQL 18, the limit on slots. */
    private static final String ORIGINS =
            "COALESCE(current_setting('max_active_replication_origins', true), current_setting('max_replication_slots'))";

    private static final String NO_ORIGIN_LEFT = """
            SELECT NOT EXISTS (SELECT FROM pg_replication_origin_status o JOIN pg_subscription s ON o.external_id = 'pg_' || s.oid WHERE s.subname = ?)
               AND (SELECT count(*) FROM pg_replication_origin_status) >= %s::integer
            """.formatted(ORIGINS);

    /** Names the standbys that a sender waits for, which may take hours. Before PostgreSQL 17 it waits for nothing. */
    private static final String LACKING_STANDBYS = """
            SELECT string_agg(name, ', ' ORDER BY name)
              FROM (SELECT btrim(item, ' "') FROM string_to_table(current_setting('synchronized_standby_slots', true), ',') item) named (name)
             WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = name AND active)
               AND (SELECT (to_jsonb(s) ->> 'failover')::boolean FROM pg_replication_slots s WHERE slot_name = ?)
            """;

    private record Subscription(boolean enabled, long errors) {}

    /** A server and a connection to it without an open transaction. */
    public record Side(String name, Connection connection) {}

    /**
     * Examines a stream that makes no progress.
     *
     * @param errorsBefore how many errors to ignore
     * @param conninfo how the subscriber reaches the publisher, if the subscription does not say
     */
    public static Optional<StreamTrouble> find(
            String stream, Side publisher, Side subscriber, long errorsBefore, String conninfo) throws SQLException {
        List<Subscription> subscriptions = Sql.list(
                subscriber.connection(),
                SUBSCRIPTION,
                row -> new Subscription(row.getBoolean(1), row.getLong(2)),
                stream);
        if (subscriptions.isEmpty()) {
            return lasting("subscription %s no longer exists on %s".formatted(stream, subscriber.name()));
        }
        Optional<StreamTrouble> loss = lossOfSlot(stream, publisher);
        if (loss.isPresent()) {
            return loss;
        }
        Subscription subscription = subscriptions.get(0);
        if (!subscription.enabled()) {
            return lasting(
                    "the subscription %1$s is disabled on %2$s; look why, and ALTER SUBSCRIPTION %1$s ENABLE there"
                            .formatted(stream, subscriber.name()));
        }
        if (Replication.isAhead(subscriber.connection(), publisher.connection(), stream)) {
            return ending("%1$s failed over to a standby that was behind, and %2$s has got more from it than it has now"
                    .formatted(publisher.name(), subscriber.name()));
        }
        boolean isActive = Sql.isTrue(
                publisher.connection(),
                "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ? AND active)",
                stream); // If not, there may be a worker, which tries to connect again and again.
        if (!isActive) {
            Optional<String> why = connectionFailure(stream, subscriber, conninfo);
            // Other moves and copies give senders back.
            if (why.filter(reason -> reason.contains("max_wal_senders")).isPresent()) {
                return waiting(
                        "%s has no sender left for %s: %s; it follows when one ends, or raise max_wal_senders and restart"
                                .formatted(publisher.name(), subscriber.name(), why.get()));
            }
            if (why.isPresent()) {
                return passing("%s cannot connect to %s: %s".formatted(subscriber.name(), publisher.name(), why.get()));
            }
        }
        Optional<StreamTrouble> heldBack = lackOfStandbys(stream, publisher, subscriber.name());
        if (heldBack.isPresent()) {
            return heldBack;
        }
        if (subscription.errors() > errorsBefore) {
            long errors = subscription.errors() - errorsBefore;
            return passing("%s could not apply what %s sent, %s; its log says why"
                    .formatted(
                            subscriber.name(),
                            publisher.name(),
                            errors == 1 ? "once so far" : errors + " times so far"));
        }
        if (isActive) {
            return Optional.empty();
        }
        Optional<StreamTrouble> lackOfWorkers = lackOfWorkers(stream, subscriber);
        return lackOfWorkers.isPresent() ? lackOfWorkers : lackOfOrigins(stream, subscriber);
    }

    /** The loss of a publisher's slot, or of the log that it should keep. The subscriber is not asked, and may be down. */
    public static Optional<StreamTrouble> lossOfSlot(String stream, Side publisher) throws SQLException {
        List<Boolean> areLost = Sql.list(publisher.connection(), SLOT, row -> row.getBoolean(1), stream);
        if (areLost.equals(List.of(false))) {
            return Optional.empty();
        }
        boolean standby = Sql.isTrue(publisher.connection(), "SELECT pg_is_in_recovery()");
        return ending(
                areLost.isEmpty()
                        ? "%s has no replication slot %s, as after a failover%s"
                                .formatted(publisher.name(), stream, standby ? " (and what answers is a standby)" : "")
                        : "%s has given up the replication slot %s, which had fallen behind"
                                .formatted(publisher.name(), stream));
    }

    /** The problem of a publisher that waits for standbys before it sends anything. */
    public static Optional<StreamTrouble> lackOfStandbys(String stream, Side publisher, String subscriber)
            throws SQLException {
        return Sql.list(publisher.connection(), LACKING_STANDBYS, row -> Optional.ofNullable(row.getString(1)), stream)
                .get(0)
                .flatMap(slots -> waiting(
                        "%1$s sends nothing that its standbys lack, and none uses the slot %2$s that synchronized_standby_slots names; %3$s follows when the standby is back, or take the slot out of the setting"
                                .formatted(publisher.name(), slots, subscriber)));
    }

    /** The problem of a subscription that waits because others use all workers, which the server only logs. */
    private static Optional<StreamTrouble> lackOfWorkers(String stream, Side subscriber) throws SQLException {
        return Sql.isTrue(subscriber.connection(), NO_WORKER_LEFT, stream)
                ? waiting(
                        "%s has no worker left to follow %s: max_logical_replication_workers is %s, and other moves and subscriptions have them all; it follows when one of them ends, or raise it and restart"
                                .formatted(
                                        subscriber.name(),
                                        stream,
                                        Sql.text(
                                                subscriber.connection(),
                                                "SELECT current_setting('max_logical_replication_workers')")))
                : Optional.empty();
    }

    /** The problem of a worker that fails right after each start for lack of an origin, which the server only logs. */
    private static Optional<StreamTrouble> lackOfOrigins(String stream, Side subscriber) throws SQLException {
        Connection connection = subscriber.connection();
        if (!Replication.maySeeOrigins(connection) || !Sql.isTrue(connection, NO_ORIGIN_LEFT, stream)) {
            return Optional.empty();
        }
        return waiting(
                "%1$s has no replication origin left to follow %2$s: all %3$s that %4$s allows are in use by other moves and subscriptions; it follows when one of them ends, or raise it and restart"
                        .formatted(
                                subscriber.name(),
                                stream,
                                Sql.text(connection, "SELECT " + ORIGINS),
                                Sql.isTrue(
                                                connection,
                                                "SELECT current_setting('max_active_replication_origins', true) IS NULL")
                                        ? "max_replication_slots"
                                        : "max_active_replication_origins"));
    }

    private static Optional<StreamTrouble> ending(String what) {
        return Optional.of(new StreamTrouble(what, Outlook.ENDING));
    }

    private static Optional<StreamTrouble> lasting(String what) {
        return Optional.of(new StreamTrouble(what, Outlook.LASTING));
    }

    private static Optional<StreamTrouble> passing(String what) {
        return Optional.of(new StreamTrouble(what, Outlook.PASSING));
    }

    private static Optional<StreamTrouble> waiting(String what) {
        return Optional.of(new StreamTrouble(what, Outlook.WAITING));
    }

    /** The error, if any, when the subscriber connects in the way that the subscription does. */
    private static Optional<String> connectionFailure(String stream, Side subscriber, String conninfo)
            throws SQLException {
        Connection connection = subscriber.connection();
        boolean mayRead = Sql.isTrue(
                connection, "SELECT has_column_privilege('pg_catalog.pg_subscription', 'subconninfo', 'SELECT')");
        List<String> its = mayRead
                ? Sql.list(
                        connection,
                        "SELECT subconninfo FROM pg_subscription WHERE subname = ?",
                        row -> row.getString(1),
                        stream)
                : List.of(conninfo);
        if (its.isEmpty()) {
            return Optional.empty(); // The move has ended meanwhile.
        }
        return connectionFailure(connection, stream, its.get(0));
    }

    /** The error, if any, when a server connects to a stream's publisher with this connection string, as a subscription would. */
    public static Optional<String> connectionFailure(Connection subscriber, String stream, String conninfo)
            throws SQLException {
        try (Sql.Ending ending = Sql.rollingBack(subscriber)) {
            Replication.createSubscription(subscriber, "shardflake_trial", stream, conninfo, "");
            return Optional.empty();
        } catch (SessionFailedException e) {
            throw e; // Which says nothing of the publisher.
        } catch (SQLException e) {
            return Optional.of(Sql.message(e).replaceFirst("^could not connect to the publisher: ", ""));
        }
    }
}
