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
import static org.shardflake.sql.Shards.queryString;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLException;
import org.shardflake.cluster.PostgresExtension;

class NextIdTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("photos", Shards::deployWithPhotos);

    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        connection = postgres.database(0).connect();
    }

    @AfterEach
    void disconnect() throws SQLException {
        connection.close();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "shardflake.next_id(7, 'shard_0007.photo_id_seq')",
                "shardflake.next_id(7)",
                "shard_0007.next_id()",
                "shard_0007.next_id('shard_0007.photo_id_seq')",
                "next_ids FROM shardflake.next_ids(7, 'shard_0007.id_seq', 1)"
            })
    void everyFormSaysShardAndTime(String form) throws SQLException {
        long before = queryLong(connection, "SELECT shardflake.clock_ms()");
        long id = queryLong(connection, "SELECT " + form);
        long after = queryLong(connection, "SELECT shardflake.clock_ms()");

        assertThat(id >> 10 & 8191).isEqualTo(7);
        assertThat((id >> 23) + FunctionLibrary.DEFAULT_EPOCH_MILLIS).isBetween(before - 4, after);
    }

    @Test
    void aSequenceIsHotUntilTheFourthMillisecondAfterItsLastTick() throws SQLException {
        connection.setAutoCommit(false); // The clock is rolled back.
        execute(
                connection,
                "CREATE TABLE public.moment (now timestamptz)",
                "INSERT INTO public.moment VALUES (NULL)",
                "CREATE OR REPLACE FUNCTION shardflake.clock() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE"
                        + " RETURN (SELECT now FROM public.moment)");
        for (String now : List.of(
                "2025-01-01 00:00:00.004",
                "2026-07-01 12:00:00.000999",
                "2026-07-01 12:00:00.001",
                "2059-11-04 19:53:47.775")) {
            execute(connection, "UPDATE public.moment SET now = '%s+00'".formatted(now));
            assertThat(queryLong(connection, """
                            WITH clock AS (SELECT (floor(extract(epoch FROM now) * 1000)::bigint - shardflake.epoch_ms()) AS ms FROM public.moment)
                            SELECT count(*) FROM clock, generate_series(-9000, 9000) d,
                                   LATERAL (SELECT ms * 1024 + d AS tick) t
                             WHERE shardflake.is_hot(tick) <> (ms - div(tick, 1024) <= 3 AND tick BETWEEN 0 AND 1125899906841599)
                               AND tick >= 0""")).as(now).isZero();
        }
        assertThat(queryLong(connection, "SELECT count(*) FROM generate_series(1, 5000) d WHERE shardflake.is_hot(-d)"))
                .isZero();
        connection.rollback();
    }

    @Test
    void countGoesUpByOneWithoutAGap() throws SQLException, InterruptedException {
        String table = "SELECT shardflake.next_id(7, 'shard_0007.fresh')";
        execute(connection, "SELECT shardflake.create_id_sequence('shard_0007', 'fresh')");
        IdLog log = new IdLog();
        for (int round = 0; round < 100; round++) {
            log.add(queryLong(connection, table));
            log.addAll(queryLongs(connection, "SELECT shardflake.next_ids(7, 'shard_0007.fresh', 250)"));
            Thread.sleep(round % 10); // cold at times, hot at others
        }
        try (Connection another = postgres.database(0).connect()) {
            log.add(queryLong(another, table)); // a session's first draw loses no number either
        }

        log.assertIncreasing();
        long[] ids = log.ids();
        for (int i = 0; i < ids.length; i++) {
            assertThat(ids[i] & 1023).as("count of id %s", i).isEqualTo(i % 1024);
        }
    }

    @Test
    void nextIdsGivesAsManyAsAskedInOrder() throws SQLException {
        long[] ids = queryLongs(connection, "SELECT shardflake.next_ids(7, 'shard_0007.id_seq', 100000)");

        assertThat(ids).hasSize(100_000).isSorted().doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "next_id(8192, 'shard_0007.id_seq') | 22023 | shard 8192 is out of range 0..8191",
                "next_id(-1) | 22023 | shard -1 is out of range 0..8191",
                "next_id(NULL) | 22023 | shard NULL is out of range 0..8191",
                "next_id(7, NULL) | 22023 | sequence NULL is not in schema shard_0007",
                "next_id(8) | 3F000 | shard 8 is not on this server",
                "next_id(8, 'shard_0007.cold') | 22023 | sequence shard_0007.cold is not in schema shard_0008",
                "next_id(7, 'public.stray') | 22023 | sequence public.stray is not in schema shard_0007",
                "next_ids(7, 'shard_0007.id_seq', 0) | 22023 | count 0 is out of range 1..100000",
                "next_ids(7, 'shard_0007.id_seq', 100001) | 22023 | count 100001 is out of range 1..100000",
                "next_ids(7, 'shard_0007.id_seq', NULL) | 22023 | count NULL is out of range 1..100000"
            })
    void badInputNamesTheValueAndTheRange(String call, String sqlState, String message) throws SQLException {
        execute(
                connection,
                "CREATE SEQUENCE IF NOT EXISTS public.stray",
                "CREATE SEQUENCE IF NOT EXISTS shard_0007.cold");

        assertThatThrownBy(() -> queryLongs(connection, "SELECT shardflake." + call))
                .isInstanceOfSatisfying(PSQLException.class, e -> {
                    assertThat(e.getSQLState()).isEqualTo(sqlState);
                    assertThat(e.getServerErrorMessage().getMessage()).isEqualTo(message);
                    assertThat(e.getServerErrorMessage().getHint()).isNotBlank();
                });
    }

    @Test
    void tableIsRefusedAsASequence() {
        assertThatThrownBy(() -> queryLong(connection, "SELECT shardflake.next_id(7, 'shard_0007.photo')"))
                .isInstanceOfSatisfying(
                        PSQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("42809"));
    }

    @Test
    void readOnlyTransactionDrawsNoIds() throws SQLException {
        execute(connection, "BEGIN READ ONLY");

        assertThatThrownBy(() -> queryLong(connection, "SELECT shard_0007.next_id()"))
                .isInstanceOfSatisfying(
                        PSQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("25006"));
    }

    @Test
    void truncateRestartIdentityBeginsAgainAtTheClock() throws SQLException {
        long before = queryLong(connection, "INSERT INTO shard_0007.photo DEFAULT VALUES RETURNING id");
        execute(connection, "TRUNCATE shard_0007.photo RESTART IDENTITY", "SELECT pg_sleep(0.002)");
        long after = queryLong(connection, "INSERT INTO shard_0007.photo DEFAULT VALUES RETURNING id");

        assertThat(after).isGreaterThan(before);
    }

    /** As after a restore by hand, or to skip numbers that others know: what the sequence says is not gone below. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "DO $$ BEGIN EXECUTE format('ALTER SEQUENCE shard_0007.set_ahead RESTART WITH %s', shardflake.now_ticks() + 3600000 * 1024::bigint); END $$",
                "SELECT setval('shard_0007.set_ahead', shardflake.now_ticks() + 3600000 * 1024::bigint, false)"
            })
    void startAheadOfTheClockIsKept(String setAhead) throws SQLException {
        execute(connection, "SELECT shardflake.create_id_sequence('shard_0007', 'set_ahead')", setAhead);
        long ahead = queryLong(connection, "SELECT last_value FROM shard_0007.set_ahead");

        assertThat(Shards.ticks(queryLong(connection, "SELECT shardflake.next_id(7, 'shard_0007.set_ahead')")))
                .isGreaterThanOrEqualTo(ahead);

        execute(connection, setAhead);
        ahead = queryLong(connection, "SELECT last_value FROM shard_0007.set_ahead");
        assertThat(queryLong(connection, "SELECT shardflake.stop_ids('shard_0007.set_ahead')"))
                .isGreaterThanOrEqualTo(ahead);
        execute(connection, "DROP SEQUENCE shard_0007.set_ahead");
    }

    @Test
    void sequenceThatCannotBeMovedLeavesNoLock() throws SQLException {
        execute(
                connection,
                "CREATE SEQUENCE shard_0007.small AS integer",
                "CREATE SEQUENCE shard_0007.large",
                "SELECT shardflake.create_id_sequence('shard_0007', 'ungranted')",
                "CREATE ROLE flake_ungranted",
                "ALTER FUNCTION shardflake_internal.advance_sequence(integer, regclass) OWNER TO flake_ungranted",
                "GRANT USAGE ON SCHEMA shardflake, shardflake_internal, shard_0007 TO flake_ungranted",
                "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA shardflake TO flake_ungranted",
                "GRANT USAGE ON SEQUENCE shard_0007.ungranted, shard_0007.small, shard_0007.large TO flake_ungranted");
        try {
            for (String sequence : new String[] {"small", "large", "ungranted"}) {
                assertThatThrownBy(() ->
                                queryLong(connection, "SELECT shardflake.next_id(7, 'shard_0007." + sequence + "')"))
                        .isInstanceOfSatisfying(
                                PSQLException.class,
                                e -> assertThat(e.getSQLState())
                                        .as(e.getMessage())
                                        .isEqualTo(sequence.equals("ungranted") ? "42501" : "22023"));
            }
            assertThat(queryLong(
                            connection,
                            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"))
                    .isZero();
        } finally {
            execute(
                    connection,
                    "ALTER FUNCTION shardflake_internal.advance_sequence(integer, regclass) OWNER TO CURRENT_USER",
                    "DROP OWNED BY flake_ungranted",
                    "DROP ROLE flake_ungranted",
                    "DROP SEQUENCE shard_0007.small, shard_0007.large, shard_0007.ungranted");
        }
    }

    /** Three days between its look and its setval, in which others may have drawn by hand without end. */
    @Test
    void idsGoBeyondWhatCouldHaveBeenDrawnWhileASessionStood() throws SQLException {
        execute(
                connection,
                "SELECT shardflake.create_id_sequence('shard_0007', 'stood')",
                "SELECT setval('shard_0007.stood', shardflake.now_ticks() - 1024 * 1024)",
                "CREATE TABLE public.stood (since bigint)",
                "INSERT INTO public.stood VALUES (-3 * 86400 * 1000000::bigint)",
                "CREATE OR REPLACE FUNCTION shardflake.draws_now() RETURNS bigint LANGUAGE sql VOLATILE"
                        + " BEGIN ATOMIC UPDATE public.stood SET since = since + 3 * 86400 * 1000000::bigint RETURNING since * 20; END");
        try {
            long before = queryLong(connection, "SELECT last_value FROM shard_0007.stood");
            assertThat(Shards.ticks(queryLong(connection, "SELECT shardflake.next_id(7, 'shard_0007.stood')")))
                    .isGreaterThan(before + 3 * 86400 * 1_000_000L * 20);
        } finally {
            FunctionLibraryTest.deployAgain(connection, "draws_now");
            execute(connection, "DROP TABLE public.stood", "DROP SEQUENCE shard_0007.stood");
        }
    }

    /** Neither a clock that steps nor a machine that was suspended changes how many numbers can have been drawn. */
    @Test
    void whatCanHaveBeenDrawnIsToldByTheLogAndNotByTheClock() throws SQLException {
        execute(connection, "SELECT shardflake.create_id_sequence('shard_0007', 'counted')");
        try {
            String counted =
                    "SELECT last - first FROM (SELECT draws AS first, %s, shardflake.draws_now() AS last FROM (SELECT shardflake.draws_now() AS draws OFFSET 0) f OFFSET 0) s";
            assertThat(queryLong(connection, counted.formatted("pg_sleep(0.1)")))
                    .as("while nobody draws")
                    .isBetween(0L, 1_000_000L);
            for (int draws : new int[] {1, 33, 1000, 100_000}) {
                String drawn =
                        "(SELECT count(nextval('shard_0007.counted')) FROM generate_series(1, %s))".formatted(draws);
                assertThat(queryLong(connection, counted.formatted(drawn)) + 64)
                        .as("while %s are drawn", draws)
                        .isGreaterThanOrEqualTo(draws);
            }
        } finally {
            execute(connection, "DROP SEQUENCE shard_0007.counted");
        }
    }

    /** What others draw between the two setval is no id, nor does it bring the sequence back. */
    @Test
    void numbersDrawnWhileTheSequenceIsMovedAreNoIds() throws SQLException {
        execute(
                connection,
                "SELECT shardflake.create_id_sequence('shard_0007', 'flooded')",
                "SELECT setval('shard_0007.flooded', shardflake.now_ticks() - 1024 * 1024)",
                "CREATE TABLE public.flood (number bigint)",
                "CREATE OR REPLACE FUNCTION shardflake.draws_now() RETURNS bigint LANGUAGE sql VOLATILE BEGIN ATOMIC"
                        + " INSERT INTO public.flood SELECT nextval('shard_0007.flooded') FROM generate_series(1, 50000);"
                        + " SELECT 0::bigint; END");
        try {
            long id = Shards.ticks(queryLong(connection, "SELECT shardflake.next_id(7, 'shard_0007.flooded')"));
            assertThat(queryLong(connection, "SELECT count(*) FROM public.flood WHERE number < 0"))
                    .as("drawn after the first setval")
                    .isEqualTo(50_000);
            assertThat(queryLong(connection, "SELECT max(number) FROM public.flood"))
                    .as("drawn before it")
                    .isPositive()
                    .isLessThan(id);
        } finally {
            FunctionLibraryTest.deployAgain(connection, "draws_now");
            execute(connection, "DROP TABLE public.flood", "DROP SEQUENCE shard_0007.flooded");
        }
    }

    @Test
    void sequenceThatACrashLeftBelowZeroGoesOnWhereItWas() throws SQLException {
        execute(connection, "SELECT shardflake.create_id_sequence('shard_0007', 'crashed')");
        // Ahead of the clock, as on a standby whose clock is behind.
        long before =
                queryLong(connection, "SELECT setval('shard_0007.crashed', shardflake.now_ticks() + 60000 * 1024)");
        execute(connection, "SELECT setval('shard_0007.crashed', %s, false)".formatted(before - (1L << 50)));

        assertThat(Shards.ticks(queryLong(connection, "SELECT shardflake.next_id(7, 'shard_0007.crashed')")))
                .isEqualTo(before + 1);
        execute(connection, "DROP SEQUENCE shard_0007.crashed");
    }

    @Test
    void sessionThatDiscardsItsStateDrawsOnWithoutAGap() throws SQLException {
        execute(connection, "SELECT shardflake.create_id_sequence('shard_0007', 'discarded')");
        for (int i = 0; i < 20; i++) {
            long id = queryLong(connection, "SELECT shardflake.next_id(7, 'shard_0007.discarded')");
            assertThat(id & 1023).as("count").isEqualTo(i);
            execute(connection, "DISCARD ALL", "SELECT pg_sleep(0.005)");
        }
    }

    @Test
    void noCallLeavesALockBehind() throws SQLException {
        connection.setAutoCommit(false);
        queryLongs(connection, "SELECT shardflake.draw_cold(7, 'shard_0007.id_seq') FROM generate_series(1, 100)");

        assertThat(queryString(
                        connection,
                        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"))
                .as("advisory locks, though the transaction is open")
                .isEqualTo("0");
        connection.rollback();
    }

    @Test
    void lockTimeoutIsAnErrorAndNoId() throws SQLException {
        try (Connection holder = postgres.database(0).connect()) {
            execute(
                    holder,
                    "BEGIN",
                    "SELECT pg_advisory_xact_lock((1397115979::bigint << 32) | 'shard_0007.id_seq'::regclass::oid::bigint)");
            execute(connection, "SET lock_timeout = '10ms'");

            assertThatThrownBy(() -> queryLong(connection, "SELECT shardflake.draw_cold(7, 'shard_0007.id_seq')"))
                    .isInstanceOfSatisfying(
                            PSQLException.class,
                            e -> assertThat(e.getSQLState()).isEqualTo("55P03"));
            execute(holder, "ROLLBACK"); // A server ends a session some time after its connection was closed.
        }
        assertThat(queryLong(connection, "SELECT shardflake.draw_cold(7, 'shard_0007.id_seq')"))
                .isPositive();
    }

    @Test
    void highestOidIsLockedLikeAnyOther() throws SQLException {
        execute(
                connection,
                "SELECT shardflake.create_id_sequence('shard_0007', 'high')",
                "SET allow_system_table_mods = on",
                """
                DO $$
                DECLARE
                    v_old oid := 'shard_0007.high'::regclass;
                    v_new oid := 4294967290;
                BEGIN
                    UPDATE pg_attribute SET attrelid = v_new WHERE attrelid = v_old;
                    UPDATE pg_sequence SET seqrelid = v_new WHERE seqrelid = v_old;
                    UPDATE pg_depend SET objid = v_new WHERE objid = v_old AND classid = 'pg_class'::regclass;
                    UPDATE pg_class SET oid = v_new WHERE oid = v_old;
                END $$""");

        long[] ids = queryLongs(
                connection, "SELECT shardflake.next_id(7, 4294967290::oid::regclass) FROM generate_series(1, 2)");

        assertThat(ids[1]).isGreaterThan(ids[0]);
    }
}
