/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.shardflake.scheme.TestDatabases.dataSource;
import static org.shardflake.scheme.TestDatabases.execute;
import static org.shardflake.scheme.TestDatabases.query;
import static org.shardflake.scheme.TestDatabases.showTime;
import static org.shardflake.scheme.TestDatabases.withTestClock;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.sql.FunctionLibrary;

/** Schemes whose ids come from PostgreSQL. */
class SchemeDatabaseTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2).prepare(SchemeDatabaseTest::prepare);

    private final StepClock clock = new StepClock(0);

    private static void prepare(Connection connection) throws SQLException {
        TestDatabases.makeTestClock(connection);
        FunctionLibrary.deploy(connection);
        execute(connection, "SELECT shardflake.create_shard(7)");
    }

    @BeforeEach
    void begin() throws SQLException {
        for (int server = 0; server < 2; server++) {
            execute(postgres.database(server), "DROP SCHEMA IF EXISTS shardflake_scheme CASCADE");
        }
    }

    private static IdGenerator generator(String scheme) throws SQLException {
        return Schemes.named(scheme)
                .generator(GeneratorSettings.DEFAULT.withShard(7).withDataSources(dataSource(postgres.database(0))));
    }

    private IdGenerator tickets() throws SQLException {
        return Schemes.named("tickets")
                .generator(GeneratorSettings.DEFAULT
                        .withClock(clock)
                        .withDataSources(dataSource(postgres.database(0)), dataSource(postgres.database(1))));
    }

    @Test
    void serialCounts() throws SQLException {
        try (IdGenerator one = generator("serial");
                IdGenerator other = generator("serial")) {
            assertThat(one.batch(3)).containsExactly("1", "2", "3");
            assertThat(other.next()).isEqualTo("4");
        }
    }

    @Test
    void whatIsNeededIsMadeOnceByManyAtOnce() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Callable<List<String>>> draws = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                draws.add(() -> {
                    try (IdGenerator generator = generator("serial")) {
                        return generator.batch(100);
                    }
                });
            }
            List<String> ids = new ArrayList<>();
            for (Future<List<String>> draw : threads.invokeAll(draws)) {
                ids.addAll(draw.get());
            }

            assertThat(new HashSet<>(ids)).hasSize(800);
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void ticketsComeFromTwoServersInTurn() throws SQLException {
        try (IdGenerator tickets = tickets()) {
            assertThat(tickets.batch(6)).containsExactly("1", "2", "3", "4", "5", "6");
        }
        assertThat(query(postgres.database(0), "SELECT count(*) || ' ' || max(id) FROM shardflake_scheme.ticket"))
                .isEqualTo("1 5");
    }

    @Test
    void ticketsGoOnFromTheOtherServerWhileOneIsDown() throws SQLException {
        try (IdGenerator tickets = tickets()) {
            assertThat(tickets.batch(2)).containsExactly("1", "2");
            stop(postgres.database(1));
            try {
                assertThat(tickets.batch(4)).containsExactly("3", "5", "7", "9");
            } finally {
                allow(postgres.database(1), true);
            }
            assertThat(tickets.batch(2)).containsExactly("11", "13"); // the server is left alone for a second

            clock.show(Duration.ofSeconds(1).toMillis());

            // It goes on where it was, so that tickets no longer sort by time.
            assertThat(tickets.batch(4)).containsExactly("15", "4", "17", "6");
        }
    }

    @Test
    void ticketsFailWhenBothServersAreDown() throws SQLException {
        try (IdGenerator tickets = tickets()) {
            tickets.batch(2);
            stop(postgres.database(0));
            stop(postgres.database(1));
            try {
                assertThatThrownBy(tickets::next).isInstanceOf(SQLException.class);
            } finally {
                allow(postgres.database(0), true);
                allow(postgres.database(1), true);
            }
            assertThat(tickets.next()).isIn("3", "4");
        }
    }

    @Test
    void ticketsNeedTwoServersInTheirOrder() throws SQLException {
        Scheme scheme = Schemes.named("tickets");
        assertThatThrownBy(() -> scheme.generator(GeneratorSettings.DEFAULT))
                .hasMessage("scheme tickets needs two servers, not 0");
        try (IdGenerator twice = scheme.generator(GeneratorSettings.DEFAULT.withDataSources(
                dataSource(postgres.database(0)), dataSource(postgres.database(0))))) {
            assertThat(twice.next()).isEqualTo("1");
            assertThatThrownBy(twice::next)
                    .hasMessage(
                            "ticket server 2 counts from 1, as the other does; name two, in the order of their first use");
        }
    }

    private static void stop(TestDatabase database) throws SQLException {
        allow(database, false);
        try (Connection connection = database.server().connect()) {
            execute(
                    connection,
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '%s'"
                            .formatted(database.name()));
        }
    }

    private static void allow(TestDatabase database, boolean connections) throws SQLException {
        try (Connection connection = database.server().connect()) {
            execute(connection, "ALTER DATABASE \"%s\" ALLOW_CONNECTIONS %b".formatted(database.name(), connections));
        }
    }

    @Test
    void instagramSaysTimeShardAndSequence() throws SQLException {
        Instant before = Instant.now().minusMillis(1000);
        try (IdGenerator generator = generator("instagram")) {
            List<String> ids = generator.batch(1025);

            assertThat(field("instagram", ids.get(0), "shard")).isEqualTo(7);
            assertThat(field("instagram", ids.get(0), "sequence")).isEqualTo(1);
            assertThat(field("instagram", ids.get(1023), "sequence")).isEqualTo(0);
            assertThat(field("instagram", ids.get(1024), "sequence")).isEqualTo(1);
            assertThat(Schemes.named("instagram").decode(ids.get(0)).time().orElseThrow())
                    .isBetween(before, Instant.now().plusMillis(1000));
        }
    }

    @Test
    void instagramRepeatsWhereTheClockStepsBack() throws SQLException {
        TestDatabase database = postgres.database(0);
        try (IdGenerator generator = Schemes.named("instagram")
                .generator(GeneratorSettings.DEFAULT.withShard(1341).withDataSources(withTestClock(database)))) {
            showTime(database, "2011-09-09 22:28:04.721Z");
            List<String> before = generator.batch(1024);
            showTime(database, "2011-09-09 22:28:05.721Z");
            generator.batch(1024);
            showTime(database, "2011-09-09 22:28:04.721Z");
            List<String> after = generator.batch(1024);

            assertThat(before).contains("11637205501278089");
            assertThat(after).isEqualTo(before);
        }
        assertThat(Schemes.named("instagram").description().clockStep()).isEqualTo(ClockStep.REPEATS);
    }

    @Test
    void instagramRepeatsAfter1024IdsInAMillisecond() throws SQLException {
        TestDatabase database = postgres.database(0);
        showTime(database, "2011-09-09 22:28:04.721Z");
        try (IdGenerator generator = Schemes.named("instagram")
                .generator(GeneratorSettings.DEFAULT.withDataSources(withTestClock(database)))) {
            List<String> ids = generator.batch(1025);

            assertThat(ids.get(1024)).isEqualTo(ids.get(0));
        }
    }

    @Test
    void instagramTakesAnotherEpoch() throws SQLException {
        Scheme scheme = Schemes.named("instagram").withEpoch(Instant.parse("2025-01-01T00:00:00Z"));
        TestDatabase database = postgres.database(0);
        showTime(database, "2025-01-17 01:21:03Z");
        try (IdGenerator other = scheme.generator(
                        GeneratorSettings.DEFAULT.withShard(1341).withDataSources(withTestClock(database)));
                IdGenerator published = generator("instagram")) {
            assertThat(scheme.decode(other.next()).time()).contains(Instant.parse("2025-01-17T01:21:03Z"));
            assertThat(published.next()).isNotEmpty();
        }
    }

    @Test
    void uuidsAreThoseOfPostgres() throws SQLException {
        TestDatabase database = postgres.database(0);
        assumeTrue(database.server().majorVersion() >= 18, "needs uuidv7()");
        String ours = generator("uuidv7").next();
        String theirs = query(database, "SELECT uuidv7()");

        assertThat(Schemes.named("uuidv7").decode(ours).time()).contains(timeByPostgres(ours));
        assertThat(Schemes.named("uuidv7").decode(theirs).time()).contains(timeByPostgres(theirs));
        assertThat(query(database, "SELECT uuid_extract_version('%s')".formatted(ours)))
                .isEqualTo("7");
        assertThat(query(
                        database,
                        "SELECT uuid_extract_version('%s')"
                                .formatted(generator("uuidv4").next())))
                .isEqualTo("4");
        assertThat(Schemes.named("uuidv4")
                        .decode(query(database, "SELECT uuidv4()"))
                        .warnings())
                .isEmpty();
    }

    private static Instant timeByPostgres(String uuid) throws SQLException {
        String millis = query(
                postgres.database(0),
                "SELECT (extract(epoch FROM uuid_extract_timestamp('%s')) * 1000)::bigint".formatted(uuid));
        return Instant.ofEpochMilli(Long.parseLong(millis));
    }

    @Test
    void shardflakeComesFromItsFunction() throws SQLException {
        try (LongIdGenerator generator = (LongIdGenerator) generator("shardflake")) {
            long[] ids = LongStream.range(0, 2000)
                    .map(i -> {
                        try {
                            return generator.nextLong();
                        } catch (SQLException e) {
                            throw new AssertionError(e);
                        }
                    })
                    .toArray();

            assertThat(ids).isSorted().doesNotHaveDuplicates();
            assertThat(field("shardflake", Long.toString(ids[0]), "shard")).isEqualTo(7);
        }
    }

    @Test
    void shardIsInRange() {
        for (String scheme : List.of("shardflake", "instagram")) {
            assertThatThrownBy(() -> Schemes.named(scheme)
                            .generator(GeneratorSettings.DEFAULT
                                    .withShard(8192)
                                    .withDataSources(dataSource(postgres.database(0)))))
                    .hasMessage("shard 8192 is out of range 0..8191");
        }
    }

    private static @Nullable Object field(String scheme, String id, String field) {
        return Schemes.named(scheme).decode(id).fields().get(field);
    }
}
