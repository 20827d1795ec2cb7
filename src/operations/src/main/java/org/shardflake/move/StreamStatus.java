/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.server.MoveServer;
import org.shardflake.replication.StreamTrouble;
import org.shardflake.server.SessionFailedException;

/**
 * The state of one direction of a move's replication.
 *
 * @param running whether the subscriber is connected and receiving
 * @param lagBytes write-ahead log that the subscriber has not confirmed and the publisher retains for it
 * @param lagMillis how long the subscriber took for the last change it confirmed
 * @param applyErrors how often the subscriber failed to apply a change
 * @param problem why the subscriber does not follow; empty if it does, as far as both servers can tell
 */
public record StreamStatus(boolean running, long lagBytes, long lagMillis, long applyErrors, String problem) {

    static final String APPLICATION = "shardflake move status";

    private static final String PUBLISHER = """
            SELECT s.active, pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::bigint,
                   COALESCE((SELECT extract(epoch FROM r.replay_lag) * 1000 FROM pg_stat_replication r WHERE r.pid = s.active_pid), 0)::bigint
              FROM pg_replication_slots s WHERE s.slot_name = ?
            """;

    /**
     * The state of a move's stream from one server to another; not running before it is created. What a server that does not answer knows is
     * left out, and that it does not is the problem.
     *
     * @param follows whether the subscriber should be following now
     * @param wayOut what to do if the stream is lost
     * @param application what its sessions are called, so that another can watch them
     */
    static StreamStatus read(
            String name,
            MoveServer publisher,
            MoveServer subscriber,
            boolean follows,
            Advice wayOut,
            String application)
            throws SQLException {
        try {
            return Sql.with(
                    publisher.connect(application),
                    from -> read(name, publisher, from, subscriber, follows, wayOut, application));
        } catch (SQLException e) {
            return new StreamStatus(false, 0, 0, 0, silence(publisher, e));
        }
    }

    private static StreamStatus read(
            String name,
            MoveServer publisher,
            Connection from,
            MoveServer subscriber,
            boolean follows,
            Advice wayOut,
            String application)
            throws SQLException {
        StreamStatus slot = slot(name, from);
        StreamTrouble.Side side = new StreamTrouble.Side(publisher.name(), from);
        Optional<StreamTrouble> loss = follows ? StreamTrouble.lossOfSlot(name, side) : Optional.empty();
        try {
            return Sql.with(
                    subscriber.connect(application),
                    to -> slot.with(
                            name,
                            side,
                            new StreamTrouble.Side(subscriber.name(), to),
                            follows ? publisher.url().conninfo() : null,
                            wayOut));
        } catch (SQLException e) {
            String silence = silence(subscriber, e);
            return new StreamStatus(
                    slot.running,
                    slot.lagBytes,
                    slot.lagMillis,
                    0,
                    loss.map(its -> told(its, wayOut) + "; and " + silence).orElse(silence));
        }
    }

    /** The loss of a stream, if its publisher reports one; empty if the publisher does not answer. */
    static Optional<StreamTrouble> loss(String name, MoveServer publisher) throws SQLException {
        try {
            return Sql.with(
                    publisher.connect(APPLICATION),
                    from -> StreamTrouble.lossOfSlot(name, new StreamTrouble.Side(publisher.name(), from)));
        } catch (SQLException e) {
            silence(publisher, e);
            return Optional.empty();
        }
    }

    private static String silence(MoveServer server, SQLException e) throws SQLException {
        if (!Sql.isOutage(e)) {
            throw e;
        }
        return e instanceof SessionFailedException
                ? Sql.message(e) // which names the server
                : "%s does not answer: %s".formatted(server.name(), Sql.why(server.url(), e));
    }

    private static StreamStatus slot(String name, Connection publisher) throws SQLException {
        return Sql.list(
                        publisher,
                        PUBLISHER,
                        row -> new StreamStatus(row.getBoolean(1), row.getLong(2), row.getLong(3), 0, ""),
                        name)
                .stream()
                .findFirst()
                .orElse(new StreamStatus(false, 0, 0, 0, ""));
    }

    /** Adds the subscriber's view of the stream. */
    private StreamStatus with(
            String name,
            StreamTrouble.Side publisher,
            StreamTrouble.Side subscriber,
            @Nullable String conninfo,
            Advice wayOut)
            throws SQLException {
        long errors = Sql.number(
                subscriber.connection(),
                "SELECT COALESCE(sum(apply_error_count), 0) FROM pg_stat_subscription_stats WHERE subname = ?",
                name);
        Optional<StreamTrouble> trouble = Optional.empty();
        if (conninfo != null) {
            trouble = running
                    ? StreamTrouble.lackOfStandbys(name, publisher, subscriber.name())
                    : StreamTrouble.find(name, publisher, subscriber, 0, conninfo);
        }
        return new StreamStatus(
                running,
                lagBytes,
                lagMillis,
                errors,
                trouble.map(its -> told(its, wayOut)).orElse(""));
    }

    static String told(StreamTrouble trouble, Advice wayOut) {
        return trouble.what() + (trouble.outlook() == StreamTrouble.Outlook.ENDING ? "; " + wayOut : "");
    }
}
