/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.server.MoveServer;
import org.shardflake.server.ServerUrl;

/**
 * Reports what this process's sessions wait for in the middle of a statement, and who blocks them: a lock, or a transaction whose end a
 * replication slot or a subscription needs. A statement that has waited for longer than the patience allows is cancelled.
 *
 * <p>A thread looks once a second, over connections that it opens when it first looks, so work that is soon done costs nothing.
 */
public final class LockWatch implements AutoCloseable {

    private static final long LOOK_MILLIS = 1_000;

    /** Finds waiting sessions of commands and of their subscriptions' workers, and the sessions that block them. */
    private static final String WAITING = """
            WITH ours AS (
                SELECT a.pid, a.backend_type IN ('client backend', 'walsender') AS is_session FROM pg_stat_activity a
                 WHERE a.datname = current_database() AND (strpos(a.application_name, $1) > 0 OR a.pid = $2) AND a.pid <> pg_backend_pid()
                UNION
                SELECT s.pid, false FROM pg_stat_subscription s WHERE strpos(s.subname, $1) > 0 AND s.pid IS NOT NULL)
            SELECT o.pid, o.is_session, max(extract(epoch FROM clock_timestamp() - l.waitstart))::bigint,
                   max(CASE WHEN l.relation IS NOT NULL THEN 'a lock on ' || l.relation::regclass
                            WHEN l.locktype IN ('transactionid', 'virtualxid') THEN 'the end of a transaction'
                            ELSE format('a lock (%s)', l.locktype) END),
                   (SELECT string_agg(DISTINCT
                           CASE WHEN b.pid = 0 THEN 'a prepared transaction'
                                ELSE concat_ws(' ', 'process', b.pid, 'of role ' || h.usename, '(' || COALESCE(NULLIF(h.application_name, ''), h.backend_type) || ')',
                                               'in a transaction since ' || to_char(h.xact_start, 'HH24:MI:SS')) END, ', ')
                      FROM unnest(pg_blocking_pids(o.pid)) b (pid) LEFT JOIN pg_stat_activity h ON h.pid = b.pid)
              FROM ours o JOIN pg_locks l ON l.pid = o.pid AND NOT l.granted AND l.waitstart < clock_timestamp() - interval '1 second'
             GROUP BY o.pid, o.is_session
            """;

    /**
     * A server to watch.
     *
     * @param mark what is in the names of our sessions there, or of our subscriptions
     * @param hasLease whether the session with the lease of the move is there, too
     */
    public record Place(String name, ServerUrl url, String mark, boolean hasLease) {

        /** The place to watch on a move's server: its sessions and subscriptions. */
        public static Place of(MoveServer server, String mark) {
            return new Place(server.name(), server.url(), mark, false);
        }
    }

    private record Waiting(
            long pid,
            boolean isSession,
            long seconds,
            String what,
            @Nullable String holders) {}

    private final Callable<List<Place>> places;
    private final Duration patience;
    private final Consumer<String> listener;
    private final Map<Place, Connection> connections = new HashMap<>();
    private final Map<String, String> told = new HashMap<>();
    private final Thread thread;
    private volatile int lease;
    private volatile boolean isEndless;
    private volatile boolean isOver;
    private volatile @Nullable String gaveUp;

    private LockWatch(Callable<List<Place>> places, Duration patience, Consumer<String> listener) {
        this.places = places;
        this.patience = patience;
        this.listener = listener;
        this.thread = new Thread(this::run, "shardflake-lock-watch");
    }

    /**
     * Starts watching.
     *
     * @param places where; asked when a second is over
     * @param listener gets what is awaited, and who holds it
     */
    public static LockWatch begin(Callable<List<Place>> places, Duration patience, Consumer<String> listener) {
        LockWatch watch = new LockWatch(places, patience, listener);
        watch.thread.setDaemon(true);
        watch.thread.start();
        return watch;
    }

    /** A unique name for this command's sessions, to be used as {@link Place#mark}. */
    public static String mark(String application) {
        return "%s %06x".formatted(application, ThreadLocalRandom.current().nextInt(1 << 24));
    }

    /**
     * Runs work while sessions are watched.
     *
     * @throws MoveException if this has cancelled a statement of the work
     */
    public static <T> T during(
            Callable<List<Place>> places, Duration patience, Consumer<String> listener, Sql.Work<T> work)
            throws SQLException {
        try (LockWatch locks = begin(places, patience, listener)) {
            return locks.during(work);
        }
    }

    /**
     * Runs work on a server while sessions are watched.
     *
     * @throws MoveException if this watch has cancelled a statement of the work
     */
    public <T> T during(Sql.Work<T> work) throws SQLException {
        try {
            return work.run();
        } catch (SQLException | RuntimeException e) {
            throwInstead(e);
            throw e;
        }
    }

    /** Tells the watch which process has the move's lease from now on. */
    public void lease(int process) {
        lease = process;
    }

    /** Suspends cancelling until closed: closing and opening a shard has its own limits, and has to finish. */
    public Endless endless() {
        isEndless = true;
        return () -> isEndless = false;
    }

    /** A part of the work that may wait without limit. */
    @FunctionalInterface
    public interface Endless extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Explains the failure of a statement that this watch has cancelled; does nothing if it has cancelled none.
     *
     * @throws MoveException in place of that failure
     */
    public void throwInstead(Exception failure) {
        String what = gaveUp;
        if (what != null) {
            throw new MoveException(
                    Kind.FAILURE,
                    what + ", longer than patience allows",
                    Advice.of(
                            "end that transaction or wait for it, and run the same command again; to wait longer: %s",
                            CliCommand.MOVE_CUTOVER_PATIENT),
                    failure);
        }
    }

    private void run() {
        try {
            Thread.sleep(LOOK_MILLIS);
            List<Place> found = new ArrayList<>();
            while (!isOver) {
                if (found.isEmpty()) {
                    found.addAll(places.call());
                }
                for (Place place : found) {
                    look(place);
                }
                Thread.sleep(LOOK_MILLIS);
            }
        } catch (InterruptedException e) {
            // The work is done.
        } catch (Exception e) {
            // Only the voice is lost: whatever the work needs fails there as well.
        } finally {
            connections.values().forEach(Sql::close);
        }
    }

    private void look(Place place) {
        try {
            Connection connection = connections.get(place);
            if (connection == null) {
                connection = place.url().connectToEither("shardflake watch");
                connections.put(place, connection);
            }
            for (Waiting waiting : Sql.list(
                    connection,
                    WAITING.replace("$1", Sql.quote(place.mark()))
                            .replace("$2", String.valueOf(place.hasLease() ? lease : 0)),
                    row -> new Waiting(
                            row.getLong(1), row.getBoolean(2), row.getLong(3), row.getString(4), row.getString(5)))) {
                tell(place, waiting, connection);
            }
            if (ServerUrl.isStandby(connection)) { // The next look may find the primary.
                connections.remove(place);
                connection.close();
            }
        } catch (SQLException e) {
            Connection lost = connections.remove(place);
            if (lost != null) {
                Sql.close(lost);
            }
        }
    }

    private void tell(Place place, Waiting waiting, Connection connection) throws SQLException {
        String what = "%s waits for %s, which %s holds"
                .formatted(
                        place.name(),
                        waiting.what(),
                        waiting.holders() == null ? "a session that is just ending" : waiting.holders());
        if (!isOver && !what.equals(told.put(place.name() + waiting.pid(), what))) {
            listener.accept(what);
        }
        if (waiting.isSession() && !isEndless && !isOver && waiting.seconds() >= patience.toSeconds()) {
            gaveUp = "%s waited %s s for %s, which %s holds"
                    .formatted(place.name(), waiting.seconds(), waiting.what(), waiting.holders());
            Sql.call(connection, "SELECT pg_cancel_backend(?)", (int) waiting.pid());
        }
    }

    @Override
    public void close() {
        isOver = true;
        thread.interrupt();
        try {
            thread.join(LOOK_MILLIS); // Its sessions end with the work's, unless a server does not answer.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
