/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.OptionalLong;
import javax.sql.DataSource;

/**
 * A number that a generator holds exclusively for some time, by a row in PostgreSQL.
 *
 * <p>A claim takes a row that nobody holds and increments its count of claims; it is renewed and given back only while
 * that count is unchanged, so that a holder that lost its number cannot touch it again. In the table, claims end by the
 * server's clock. The holder stops by its own clocks, counting from before the claim was sent and so ending sooner: the
 * time of day, which also runs while the machine sleeps, and the monotonic clock.
 *
 * <p>Numbers that were never claimed are taken first, then those whose claim ended longest ago: ids that the last
 * holder may still use are then as old as possible. No claim prevents this: a generator that stalls after the check,
 * until its claim is over, still makes that one id. Thread-safe.
 */
final class WorkerLease implements Worker {

    /** Finds a free number; the clock is named without a schema, so that a test's search path can replace it. */
    private static final String FIND = """
            SELECT w FROM generate_series(?::bigint, ?::bigint) AS w
              LEFT JOIN shardflake_scheme.lease l ON l.scheme = ? AND l.worker = w
             WHERE l.expires_at IS NULL OR l.expires_at <= clock_timestamp()
             ORDER BY l.expires_at NULLS FIRST, w LIMIT 1
            """;

    private static final String CLAIM = """
            INSERT INTO shardflake_scheme.lease AS l (scheme, worker, claims, holder, expires_at)
            VALUES (?, ?, 1, ?, clock_timestamp() + ? * interval '1 millisecond')
            ON CONFLICT (scheme, worker) DO UPDATE
               SET claims = l.claims + 1, holder = EXCLUDED.holder, expires_at = EXCLUDED.expires_at
             WHERE l.expires_at <= clock_timestamp()
            RETURNING claims
            """;

    private static final String RENEW = """
            UPDATE shardflake_scheme.lease SET expires_at = clock_timestamp() + ? * interval '1 millisecond'
             WHERE scheme = ? AND worker = ? AND claims = ? AND expires_at > clock_timestamp()
            """;

    private static final String HOLDER = "process " + ProcessHandle.current().pid();

    private final String scheme;
    private final long id;
    private final long claims;
    private final DataSource dataSource;
    private final InstantSource clock;
    private final Duration time;

    private Deadline ends;
    private Deadline renewal;
    private boolean closed;

    private WorkerLease(
            String scheme, GeneratorSettings settings, long id, long claims, Deadline ends, Deadline renewal) {
        this.scheme = scheme;
        this.id = id;
        this.claims = claims;
        this.dataSource = settings.dataSource(scheme);
        this.clock = settings.clock();
        this.time = settings.leaseTime();
        this.ends = ends;
        this.renewal = renewal;
    }

    /**
     * Claims a free number.
     *
     * @throws NoFreeWorkerException if others hold all of them
     */
    static WorkerLease claim(String scheme, GeneratorSettings settings, long first, long last) throws SQLException {
        try (Connection connection = settings.dataSource(scheme).getConnection()) {
            SchemeTables.ensureLease(connection);
            while (true) {
                OptionalLong free = find(connection, scheme, first, last);
                if (free.isEmpty()) {
                    throw new NoFreeWorkerException(scheme, first, last);
                }
                Deadline ends = Deadline.in(settings.leaseTime(), settings.clock());
                Deadline renewal = Deadline.in(settings.leaseTime().dividedBy(2), settings.clock());
                long claims = tryClaim(connection, scheme, free.getAsLong(), settings.leaseTime());
                if (claims > 0) {
                    return new WorkerLease(scheme, settings, free.getAsLong(), claims, ends, renewal);
                }
            }
        }
    }

    private static OptionalLong find(Connection connection, String scheme, long first, long last) throws SQLException {
        try (PreparedStatement find = connection.prepareStatement(FIND)) {
            find.setLong(1, first);
            find.setLong(2, last);
            find.setString(3, scheme);
            try (ResultSet row = find.executeQuery()) {
                return row.next() ? OptionalLong.of(row.getLong(1)) : OptionalLong.empty();
            }
        }
    }

    /** Tries to claim a number; returns the claim's number, or 0 if another generator was faster. */
    private static long tryClaim(Connection connection, String scheme, long worker, Duration time) throws SQLException {
        try (PreparedStatement claim = connection.prepareStatement(CLAIM)) {
            claim.setString(1, scheme);
            claim.setLong(2, worker);
            claim.setString(3, HOLDER);
            claim.setLong(4, time.toMillis());
            try (ResultSet row = claim.executeQuery()) {
                return row.next() ? row.getLong(1) : 0;
            }
        }
    }

    @Override
    public long id() {
        return id;
    }

    @Override
    public long launch() {
        return claims;
    }

    @Override
    public synchronized void check() {
        if (closed) {
            throw new LeaseLostException(scheme, id, "it was given back");
        }
        if (renewal.isOver(clock) && !ends.isOver(clock)) {
            renew();
        }
        // Also after renewing: the answer may have taken longer than the claim lasts.
        if (ends.isOver(clock)) {
            throw new LeaseLostException(scheme, id, "the claim ended after %s without renewal".formatted(time));
        }
    }

    private void renew() {
        Deadline renewed = Deadline.in(time, clock);
        Deadline next = Deadline.in(time.dividedBy(2), clock);
        try (Connection connection = dataSource.getConnection()) {
            if (!set(connection, time)) {
                ends = Deadline.PAST;
                throw new LeaseLostException(scheme, id, "its claim is over on the server");
            }
            ends = renewed;
            renewal = next;
        } catch (SQLException e) {
            // The claim still holds; the server may be back before it ends.
            renewal = Deadline.in(time.dividedBy(8), clock);
        }
    }

    private boolean set(Connection connection, Duration remaining) throws SQLException {
        try (PreparedStatement renew = connection.prepareStatement(RENEW)) {
            renew.setLong(1, remaining.toMillis());
            renew.setString(2, scheme);
            renew.setLong(3, id);
            renew.setLong(4, claims);
            return renew.executeUpdate() == 1;
        }
    }

    @Override
    public synchronized void close() throws SQLException {
        if (closed) {
            return;
        }
        closed = true;
        try (Connection connection = dataSource.getConnection()) {
            set(connection, Duration.ZERO);
        }
    }

    /** A moment on two clocks, which is over as soon as it has passed on either. */
    private record Deadline(Instant instant, long nanos) {

        static final Deadline PAST = new Deadline(Instant.MIN, System.nanoTime());

        static Deadline in(Duration time, InstantSource clock) {
            return new Deadline(clock.instant().plus(time), System.nanoTime() + time.toNanos());
        }

        boolean isOver(InstantSource clock) {
            return System.nanoTime() - nanos >= 0 || !clock.instant().isBefore(instant);
        }
    }
}
