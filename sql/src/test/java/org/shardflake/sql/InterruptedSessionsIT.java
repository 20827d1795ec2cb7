/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryLongs;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;

/** Sessions cancelled or terminated at random while they draw ids the cold way, where the lock is. */
class InterruptedSessionsIT {

    private static final int SESSIONS = 4;

    /** Only cold draws: the sequence is asked to advance again and again, by all sessions at once. */
    private static final String COLD_IDS =
            "SELECT shardflake.compose_id(shardflake.draw_cold(7, 'shard_0007.photo_id_seq'), 7) FROM generate_series(1, 20)";

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("photos", Shards::deployWithPhotos);

    private final AtomicInteger interruptions = new AtomicInteger();
    private final AtomicInteger draws = new AtomicInteger();
    private final ConcurrentLinkedQueue<Integer> victims = new ConcurrentLinkedQueue<>();

    @BeforeEach
    void reset() {
        interruptions.set(0);
        draws.set(0);
        victims.clear();
    }

    @Test
    void cancelLeavesNoLockAndNoDuplicate() throws Exception {
        leavesNoLockAndNoDuplicate("pg_cancel_backend", 500);
    }

    @Test
    @Tag("full")
    void thousandsOfCancelsLeaveNoLockAndNoDuplicate() throws Exception {
        leavesNoLockAndNoDuplicate("pg_cancel_backend", 3000);
    }

    @Test
    void terminationLeavesNoLockAndNoDuplicate() throws Exception {
        leavesNoLockAndNoDuplicate("pg_terminate_backend", 40);
    }

    @Test
    @Tag("full")
    void hundredsOfTerminationsLeaveNoLockAndNoDuplicate() throws Exception {
        leavesNoLockAndNoDuplicate("pg_terminate_backend", 200);
    }

    private void leavesNoLockAndNoDuplicate(String interrupt, int times) throws Exception {
        List<IdLog> logs = drawWhile(interrupt, times);

        assertThat(interruptions).as("statements interrupted").hasValueGreaterThanOrEqualTo(times);
        assertNothingRepeatedNorLocked(logs);
    }

    private void assertNothingRepeatedNorLocked(List<IdLog> logs) throws Exception {
        long[] sorted = IdLog.sorted(logs);
        assertThat(sorted).isNotEmpty();
        assertThat(IdLog.duplicates(sorted)).as("duplicates").isZero();
        try (Connection connection = postgres.database(0).connect()) {
            // A session that was terminated says so before it lets go of its locks.
            long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
            while (locks(connection) > 0 && System.nanoTime() < end) {
                Thread.sleep(10);
            }
            assertThat(locks(connection)).as("locks").isZero();
        }
    }

    private static long locks(Connection connection) throws SQLException {
        return queryLong(connection, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'");
    }

    /** Several sessions draw while one interrupts them at random, until enough were hit. */
    private List<IdLog> drawWhile(String interrupt, int enough) throws Exception {
        return Sessions.run(postgres.database(0), SESSIONS + 1, (session, connection) -> {
            if (session == SESSIONS) {
                interruptAtRandom(connection, interrupt, enough);
                return new IdLog();
            }
            return draw(enough);
        });
    }

    private void interruptAtRandom(Connection connection, String interrupt, int enough) throws Exception {
        long start = System.nanoTime();
        while (interruptions.get() < enough) {
            assertThat(System.nanoTime() - start)
                    .as("nanoseconds of waiting for interruptions")
                    .isLessThan(Duration.ofMinutes(10).toNanos());
            List<Integer> alive = new ArrayList<>(victims);
            // On a busy machine no draw would come to its end between two interruptions.
            if (!alive.isEmpty() && interruptions.get() < 10 * (draws.get() + 1)) {
                int pid = alive.get(ThreadLocalRandom.current().nextInt(alive.size()));
                execute(connection, "SELECT " + interrupt + "(" + pid + ")");
            }
            long pause = System.nanoTime() + ThreadLocalRandom.current().nextInt(500_000);
            while (System.nanoTime() < pause) {
                Thread.onSpinWait();
            }
        }
    }

    private IdLog draw(int enough) throws SQLException {
        IdLog log = new IdLog();
        while (interruptions.get() < enough) {
            try (Connection connection = postgres.database(0).connect()) {
                Integer pid = (int) queryLong(connection, "SELECT pg_backend_pid()");
                victims.add(pid);
                try {
                    drawTillTerminated(connection, log, enough);
                } finally {
                    victims.remove(pid);
                }
            } catch (SQLException e) {
                expect(e, "57P01", "08003", "08006"); // terminated, between statements too
            }
        }
        return log;
    }

    private void drawTillTerminated(Connection connection, IdLog log, int enough) throws SQLException {
        while (interruptions.get() < enough) {
            try {
                log.addAll(queryLongs(connection, COLD_IDS));
                draws.incrementAndGet();
            } catch (SQLException e) {
                interruptions.incrementAndGet();
                if (expect(e, "57014", "57P01", "08006").equals("57014")) {
                    assertHoldsNoLock(connection);
                } else {
                    return;
                }
            }
        }
    }

    private static void assertHoldsNoLock(Connection connection) throws SQLException {
        try {
            assertThat(
                            queryLong(
                                    connection,
                                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()"))
                    .as("advisory locks of a session whose statement was cancelled")
                    .isZero();
        } catch (SQLException e) {
            expect(e, "57014"); // cancelled once more; the end of the test asks again
        }
    }

    private static String expect(SQLException e, String... sqlStates) throws SQLException {
        if (!List.of(sqlStates).contains(e.getSQLState())) {
            throw e;
        }
        return e.getSQLState();
    }
}
