/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryLongs;
import static org.shardflake.sql.Shards.ticks;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLException;
import org.shardflake.cluster.PostgresExtension;

/** Ids while the clock does what clocks should not do. */
class ClockIT {

    private static final long HOT_LAG_MILLIS = 3;
    private static final long HOUR = 3_600_000;
    private static final long LAST_MILLIS = FunctionLibrary.DEFAULT_EPOCH_MILLIS + (1L << 40) - 1;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1)
            .prepareOnce("photos", Shards::deployWithPhotos)
            .prepare(Shards::replaceClock);

    private static final String NEXT_ID = "SELECT shardflake.next_id(7, 'shard_0007.fresh')";

    private Connection connection;

    @BeforeEach
    void connectWithAFreshSequence() throws SQLException {
        connection = postgres.database(0).connect();
        setClock(System.currentTimeMillis());
        execute(
                connection,
                "DROP SEQUENCE IF EXISTS shard_0007.fresh",
                "SELECT shardflake.create_id_sequence('shard_0007', 'fresh')");
    }

    @AfterEach
    void disconnect() throws SQLException {
        connection.close();
    }

    @Test
    void keepsIncreasingWhenTheClockStepsBack() throws SQLException {
        long now = clock();
        long before = queryLong(connection, NEXT_ID);
        setClock(now - HOUR);
        long[] after = queryLongs(connection, NEXT_ID + " FROM generate_series(1, 5000)");

        assertThat(ticks(after[0])).as("counts on from the last id").isEqualTo(ticks(before) + 1);
        assertThat(ticks(after[4999])).isEqualTo(ticks(before) + 5000);
        assertThat(after).isSorted();
    }

    @Test
    void keepsIncreasingWhileTheClockIsFrozen() throws SQLException {
        long first = queryLong(connection, NEXT_ID);
        long[] ids = queryLongs(connection, NEXT_ID + " FROM generate_series(1, 10000)");

        assertThat(ticks(ids[9999]))
                .as("the time runs ahead of the clock, 1024 ids to the millisecond")
                .isEqualTo(ticks(first) + 10000);
    }

    @Test
    void followsWhenTheClockStepsForward() throws SQLException {
        long before = queryLong(connection, NEXT_ID);
        long future = clock() + HOUR;
        setClock(future);
        long after = queryLong(connection, NEXT_ID);

        assertThat(millis(after)).isEqualTo(future);
        assertThat(after & 1023).as("count").isEqualTo((before + 1) & 1023);
    }

    @Test
    @Tag("full")
    void isWithinFourMillisecondsOfTheClock() throws SQLException {
        long start = clock();
        queryLong(connection, NEXT_ID);
        long ahead = 0;
        for (int elapsed = 0; elapsed < 2000; elapsed++) {
            setClock(start + elapsed);
            long began = System.nanoTime();
            long[] ids = queryLongs(connection, NEXT_ID + " FROM generate_series(1, " + elapsed % 5 + ")");
            // A session that the machine suspends while it moves the sequence allows for 20 numbers a microsecond:
            // advance_sequence.
            long couldHaveBeenDrawn = (System.nanoTime() - began) / 1000 * 20;
            ahead = Math.max(Math.max(0, ahead - 1), couldHaveBeenDrawn / 1024 - HOT_LAG_MILLIS);
            for (long id : ids) {
                assertThat(millis(id) - (start + elapsed))
                        .as("ms ahead of the clock")
                        .isBetween(-4L, ahead);
            }
        }
    }

    @Test
    void neverRepeatsWhateverTheClockDoesUnderConcurrency() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        Thread clock = new Thread(() -> stepAtRandom(done));
        clock.start();
        List<IdLog> logs;
        try {
            logs = Sessions.run(postgres.database(0), 8, (session, own) -> {
                IdLog log = new IdLog();
                for (int round = 0; round < 500; round++) {
                    log.add(queryLong(own, NEXT_ID));
                    log.addAll(queryLongs(own, NEXT_ID + " FROM generate_series(1, 50)"));
                }
                return log;
            });
        } finally {
            done.set(true);
            clock.join();
        }

        logs.forEach(IdLog::assertIncreasing);
        long[] sorted = IdLog.sorted(logs);
        assertThat(sorted).hasSize(8 * 500 * 51);
        assertThat(IdLog.duplicates(sorted)).as("duplicates").isZero();
    }

    /** Half of the time frozen for some milliseconds, else a step of up to an hour, either way. */
    private static void stepAtRandom(AtomicBoolean done) {
        try (Connection own = postgres.database(0).connect()) {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            while (!done.get()) {
                long step = random.nextBoolean() ? random.nextLong(-HOUR, HOUR) : random.nextLong(-10, 10);
                execute(
                        own,
                        "UPDATE public.test_clock SET ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + "
                                + step);
                Thread.sleep(random.nextInt(4));
            }
        } catch (SQLException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void lastMillisecondHoldsTheHighestIdAndThenItIsOver() throws SQLException {
        setClock(LAST_MILLIS);
        queryLong(connection, NEXT_ID);
        queryLong(connection, "SELECT setval('shard_0007.fresh', (1::bigint << 50) - 3)");

        long[] last = queryLongs(connection, NEXT_ID + " FROM generate_series(1, 2)");
        assertThat(last[1]).isEqualTo(((1L << 40) - 1) << 23 | 7 << 10 | 1023).isPositive();
        String message = "sequence shard_0007.fresh has reached its last id";
        assertSqlState(NEXT_ID, "SF002", message);
        try (Connection another = postgres.database(0).connect()) {
            assertSqlState(another, NEXT_ID, "SF002", message); // a session that never drew from it
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {FunctionLibrary.DEFAULT_EPOCH_MILLIS - 1, LAST_MILLIS + 1})
    void clockOutsideTheTimeOfIdsIsRefusedTillItIsSetRight(long millis) throws SQLException {
        setClock(millis);
        String message =
                "the clock says " + (millis < LAST_MILLIS ? "2024-12-31 23:59:59.999" : "2059-11-04 19:53:47.776")
                        + " UTC, but ids have times from 2025-01-01 00:00:00 to 2059-11-04 19:53:47.775 UTC";
        assertSqlState(NEXT_ID, "SF002", message);
        assertSqlState(NEXT_ID, "SF002", message);

        long now = System.currentTimeMillis();
        setClock(now);
        assertThat(millis(queryLong(connection, NEXT_ID))).isEqualTo(now);
    }

    /** A sequence in use does not care: it counts on, as in any step back. */
    @Test
    void clockBeforeTheEpochIsNothingToASequenceThatIsAhead() throws SQLException {
        long before = queryLong(connection, NEXT_ID);
        setClock(FunctionLibrary.DEFAULT_EPOCH_MILLIS - 1);

        assertThat(ticks(queryLong(connection, NEXT_ID))).isEqualTo(ticks(before) + 1);
    }

    @Test
    void timeRunsOutWhereItShould() {
        assertThat(Instant.ofEpochMilli(LAST_MILLIS)).isEqualTo("2059-11-04T19:53:47.775Z");
    }

    private void assertSqlState(String sql, String sqlState, String message) {
        assertSqlState(connection, sql, sqlState, message);
    }

    private static void assertSqlState(Connection connection, String sql, String sqlState, String message) {
        assertThatThrownBy(() -> queryLong(connection, sql)).isInstanceOfSatisfying(PSQLException.class, e -> {
            assertThat(e.getSQLState()).isEqualTo(sqlState);
            assertThat(e.getServerErrorMessage().getMessage()).isEqualTo(message);
        });
    }

    private long clock() throws SQLException {
        return queryLong(connection, "SELECT shardflake.clock_ms()");
    }

    private void setClock(long millis) throws SQLException {
        execute(connection, "UPDATE public.test_clock SET ms = " + millis);
    }

    private static long millis(long id) {
        return (id >> 23) + FunctionLibrary.DEFAULT_EPOCH_MILLIS;
    }
}
