/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.internal.copy.CopyThrottle;

/** Limits the copy rate, and waits for lagging standbys of the target. Thread-safe. */
final class Throttle implements CopyThrottle {

    private static final long NANOS_BETWEEN_LOOKS = 1_000_000_000L;

    /** Reads the server's log position, and the position up to which the slowest of its standbys has applied the log. */
    private static final String POSITIONS = """
            SELECT pg_current_wal_lsn() - '0/0', (SELECT min(replay_lsn - '0/0') FROM pg_stat_replication
              WHERE state = 'streaming' AND application_name !~ '^shardflake_m[0-9]+_')
            """;

    /** Names the slowest standby of {@link #POSITIONS}. */
    private static final String LAST = """
            SELECT COALESCE((SELECT concat_ws(' ', application_name, 'at', client_addr) FROM pg_stat_replication
              WHERE state = 'streaming' AND application_name !~ '^shardflake_m[0-9]+_' ORDER BY replay_lsn LIMIT 1), 'none is connected')
            """;

    /** A position of the server's log, and when it was read. */
    private record Position(long nanoTime, long lsn) {}

    private record Positions(long written, OptionalLong applied) {}

    private final MoveLimits limits;
    private final Duration maxLag;
    private final Duration patience;
    private final MoveListener listener;
    private final Connection target;
    private final Deque<Position> written = new ArrayDeque<>();
    private long nextLook = System.nanoTime();

    /**
     * @param patience how long to wait for standbys at once
     * @param target a connection that nobody else uses
     */
    public Throttle(MoveLimits limits, Duration maxLag, Duration patience, Connection target, MoveListener listener) {
        this.patience = patience;
        this.listener = listener;
        this.target = target;
        this.limits = limits;
        this.maxLag = maxLag;
    }

    /** Waits as long as copying these bytes may take, and for standbys. */
    @Override
    public void copied(long bytes) throws SQLException {
        awaitStandbys();
        limits.awaitBytes(bytes);
    }

    /** Waits while a standby lags more than allowed; checks once a second. All threads wait together. */
    private synchronized void awaitStandbys() throws SQLException {
        if (isDue()) {
            boolean caughtUp = Poll.everyMillis(500, patience).until(() -> !isBehind(), this::lag, listener::waits);
            if (!caughtUp) {
                throw new MoveException(
                        Kind.FAILURE,
                        lag() + ", longer than patience allows",
                        "find out why the standby does not apply what it receives, and run the same command again");
            }
        }
    }

    private String lag() throws SQLException {
        return "copying waits for a standby of the target to be at most %s s behind: %s"
                .formatted(maxLag.toSeconds(), Sql.text(target, LAST));
    }

    /** Whether standbys are behind, by comparing with earlier positions, since a stuck standby reports no lag. */
    private boolean isBehind() throws SQLException {
        Positions now = Sql.list(target, POSITIONS, Throttle::positions).get(0);
        long nanoTime = System.nanoTime();
        written.addLast(new Position(nanoTime, now.written()));
        // Of the old enough ones, the newest is sufficient.
        @Nullable Position old = null;
        while (nanoTime - written.getFirst().nanoTime() > maxLag.toNanos()) {
            old = written.removeFirst();
        }
        if (old != null) {
            written.addFirst(old);
        }
        return old != null && now.applied().orElse(Long.MAX_VALUE) < old.lsn();
    }

    private static Positions positions(ResultSet row) throws SQLException {
        long written = row.getLong(1);
        long applied = row.getLong(2);
        return new Positions(written, row.wasNull() ? OptionalLong.empty() : OptionalLong.of(applied));
    }

    private boolean isDue() {
        if (System.nanoTime() < nextLook) {
            return false;
        }
        nextLook = System.nanoTime() + NANOS_BETWEEN_LOOKS;
        return true;
    }
}
