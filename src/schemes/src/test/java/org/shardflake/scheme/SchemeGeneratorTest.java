/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Generators that need no database: round trips, sequences that run over, and clocks that go back. */
class SchemeGeneratorTest {

    private static final long NOW = Instant.parse("2026-11-21T10:00:00Z").toEpochMilli();

    private final StepClock clock = new StepClock(NOW);

    private IdGenerator generator(String scheme, long worker) throws SQLException {
        return Schemes.named(scheme)
                .generator(GeneratorSettings.DEFAULT
                        .withClock(clock)
                        .withRandom(new Random(7))
                        .withWorker(worker));
    }

    private static @Nullable Object field(String scheme, String id, String field) {
        return Schemes.named(scheme).decode(id).fields().get(field);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "snowflake",
                "snowflake-java",
                "flake",
                "simpleflake",
                "uuidv7",
                "uniqueid",
                "objectid",
                "traceid"
            })
    void putsTheTimeIn(String scheme) throws SQLException {
        String id = generator(scheme, 5).next();

        assertThat(field(scheme, id, "time")).isEqualTo(Instant.ofEpochMilli(NOW));
        assertThat(Schemes.named(scheme).guess(id, Instant.ofEpochMilli(NOW))).isPresent();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"snowflake", "snowflake-java", "flake", "uuidv4", "uuidv7", "uniqueid", "objectid", "traceid"})
    void repeatsNothingWithASaneClock(String scheme) throws SQLException {
        IdGenerator generator = Schemes.named(scheme).generator(GeneratorSettings.DEFAULT.withWorker(5));

        List<String> ids = generator.batch(20_000);

        assertThat(new HashSet<>(ids)).hasSize(20_000);
    }

    @ParameterizedTest
    @CsvSource({"snowflake, 1023", "snowflake-java, 1023", "flake, 281474976710655", "uniqueid, 2047", "traceid, 65535"
    })
    void refusesAWorkerOutOfRange(String scheme, long last) throws SQLException {
        assertThat(generator(scheme, last).next()).isNotEmpty();
        assertThatThrownBy(() -> generator(scheme, last + 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("worker %s is out of range 0..%s".formatted(last + 1, last));
    }

    @ParameterizedTest
    @CsvSource({"snowflake, 0..1023", "uniqueid, 0..2047", "traceid, 0..65535"})
    void needsAWorkerOrAServer(String scheme, String range) {
        assertThatThrownBy(() -> Schemes.named(scheme).generator(GeneratorSettings.DEFAULT))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("scheme %s needs a worker %s, or a server to claim one from".formatted(scheme, range));
    }

    @Test
    void snowflakeHasDataCenterAndWorker() throws SQLException {
        String id = generator("snowflake", 11 * 32 + 26).next();

        assertThat(field("snowflake", id, "dataCenter")).isEqualTo(11);
        assertThat(field("snowflake", id, "worker")).isEqualTo(26);
    }

    @Test
    void javaSnowflakeHasItsSequence() {
        SnowflakeLayout layout = new SnowflakeLayout(1_420_070_400_000L);

        assertThat(layout.encode(1_420_070_400_000L + 108_468_000_000L, 786, 3450))
                .isEqualTo(454947766275222906L);
    }

    @Test
    void snowflakeRefusesATimeThatDoesNotFit() throws SQLException {
        IdGenerator generator = generator("snowflake", 0);

        clock.show(Instant.parse("2080-07-10T17:30:30.208Z").toEpochMilli());
        assertThat(generator.next()).startsWith("92233720368505815");
        clock.show(Instant.parse("2080-07-10T17:30:30.209Z").toEpochMilli());
        assertThatThrownBy(generator::next)
                .hasMessage(
                        "time 2080-07-10T17:30:30.209Z is out of range 2010-11-04T01:42:54.657Z..2080-07-10T17:30:30.208Z");
    }

    @Test
    void javaSnowflakeHashesHardwareAddresses() {
        List<byte[]> addresses = List.of(HexFormat.of().parseHex("0242ac110002"));

        assertThat(JavaSnowflakeScheme.node(addresses)).isEqualTo("0242AC110002".hashCode() & 1023);
        assertThat(JavaSnowflakeScheme.node(List.of())).isZero();
    }

    @Test
    void flakeTakesTheFirstHardwareAddress() {
        byte[] address = HexFormat.of().parseHex("109add5e0e8f");

        assertThat(FlakeScheme.worker(List.of(new byte[8], address))).isEqualTo(0x109add5e0e8fL);
        assertThatThrownBy(() -> FlakeScheme.worker(List.of()))
                .hasMessageContaining("no network interface has a hardware address");
    }

    @ParameterizedTest
    @ValueSource(strings = {"snowflake", "snowflake-java", "flake"})
    void refusesAClockThatGoesBack(String scheme) throws SQLException {
        IdGenerator generator = generator(scheme, 5);
        generator.next();

        clock.show(NOW - 1000);
        assertThatThrownBy(generator::next)
                .isInstanceOfSatisfying(
                        ClockWentBackException.class,
                        e -> assertThat(e.millisBehind()).isEqualTo(1000))
                .hasMessage("the clock went back; %s makes no ids for the next 1000 ms".formatted(scheme));
        clock.show(NOW);
        assertThat(generator.next()).isNotEmpty();
        assertThat(Schemes.named(scheme).description().clockStep()).isEqualTo(ClockStep.REFUSES);
    }

    @ParameterizedTest
    @CsvSource({"snowflake, 4096", "snowflake-java, 4096", "uniqueid, 64"})
    void waitsWhereAMillisecondIsUsedUp(String scheme, int perMillisecond) throws SQLException {
        IdGenerator generator = generator(scheme, 5);
        List<String> first = generator.batch(perMillisecond);
        clock.show(NOW, NOW, NOW, NOW + 1);
        String next = generator.next();

        assertThat(field(scheme, first.get(perMillisecond - 1), "sequence")).isEqualTo(perMillisecond - 1);
        assertThat(field(scheme, next, "sequence")).isEqualTo(0);
        assertThat(field(scheme, next, "time")).isEqualTo(Instant.ofEpochMilli(NOW + 1));
    }

    @Test
    void snowflakeWaitsOutAClockThatGoesBackWhileItWaits() throws SQLException {
        IdGenerator generator = generator("snowflake", 5);
        generator.batch(4096);

        clock.show(NOW, NOW - 1000, NOW, NOW + 1);

        assertThat(field("snowflake", generator.next(), "time")).isEqualTo(Instant.ofEpochMilli(NOW + 1));
    }

    @Test
    void javaSnowflakeRepeatsWhereTheClockGoesBackWhileItWaits() throws SQLException {
        clock.show(NOW - 1000);
        IdGenerator generator = generator("snowflake-java", 5);
        String before = generator.next();
        clock.show(NOW);
        generator.batch(4096);

        clock.show(NOW, NOW - 1000);

        assertThat(generator.next()).isEqualTo(before);
    }

    @Test
    void flakeRepeatsAfter65536IdsInAMillisecond() throws SQLException {
        IdGenerator generator = generator("flake", 5);

        List<String> ids = generator.batch(65_537);

        assertThat(new HashSet<>(ids)).hasSize(65_536);
        assertThat(ids.get(65_536)).isEqualTo(ids.get(0));
    }

    @Test
    void uniqueIdRepeatsWhereTheClockGoesBack() throws SQLException {
        IdGenerator generator = generator("uniqueid", 5);
        List<String> before = generator.batch(3);
        clock.show(NOW + 1);
        generator.next();

        clock.show(NOW);

        assertThat(generator.batch(3)).isEqualTo(before);
        assertThat(Schemes.named("uniqueid").description().clockStep()).isEqualTo(ClockStep.REPEATS);
    }

    @Test
    void uniqueIdFailsWhereTheClockStands() throws SQLException {
        IdGenerator generator = generator("uniqueid", 5);
        generator.batch(64);

        assertThatThrownBy(generator::next)
                .isInstanceOfSatisfying(
                        ClockStandsException.class,
                        e -> assertThat(e.timeMillis()).isEqualTo(NOW))
                .hasMessage(
                        "the clock stands at 2026-11-21T10:00:00Z, and uniqueid has no more ids for that millisecond");
        clock.show(NOW + 1);
        assertThat(generator.next()).isNotEmpty();
    }

    @Test
    void uniqueIdHasTwoModes() throws SQLException {
        GeneratorSettings settings =
                GeneratorSettings.DEFAULT.withClock(clock).withWorker(1999).withCluster(5);
        Scheme scheme = Schemes.named("uniqueid");

        String spread = scheme.generator(settings).next();
        String sequential = scheme.generator(settings.withMode(UniqueIdMode.TIME_SEQUENTIAL))
                .next();

        assertThat(scheme.decode(spread).fields())
                .containsEntry("mode", "SPREAD")
                .containsEntry("generator", 1999)
                .containsEntry("cluster", 5);
        assertThat(scheme.decode(sequential).fields())
                .containsEntry("mode", "TIME_SEQUENTIAL")
                .containsEntry("generator", 1999)
                .containsEntry("cluster", 5)
                .containsEntry("time", Instant.ofEpochMilli(NOW));
        assertThatThrownBy(() -> scheme.generator(settings.withCluster(16)))
                .hasMessage("cluster 16 is out of range 0..15");
    }

    @Test
    void uuidv7CountsOnWhateverTheClockDoes() throws SQLException {
        IdGenerator generator = generator("uuidv7", 5);
        List<String> ids = generator.batch(10_000);
        clock.show(NOW - 3_600_000);
        String after = generator.next();

        assertThat(ids).isSorted().doesNotHaveDuplicates();
        assertThat(after).isGreaterThan(ids.get(9999));
        assertThat(field("uuidv7", ids.get(0), "fraction")).isEqualTo(0);
        assertThat(field("uuidv7", ids.get(1), "fraction")).isEqualTo(1);
        // 4081 steps of 245 ns are less than a millisecond.
        assertThat(field("uuidv7", ids.get(4081), "time")).isEqualTo(Instant.ofEpochMilli(NOW));
        assertThat(field("uuidv7", ids.get(4082), "time")).isEqualTo(Instant.ofEpochMilli(NOW + 1));
        assertThat(Schemes.named("uuidv7").description().clockStep()).isEqualTo(ClockStep.COUNTS_ON);
    }

    @Test
    void uuidv7PutsTheFractionOfTheMillisecondIn() throws SQLException {
        InstantSource half = () -> Instant.ofEpochMilli(NOW).plusNanos(500_000);

        String id = Schemes.named("uuidv7")
                .generator(GeneratorSettings.DEFAULT.withClock(half))
                .next();

        assertThat(field("uuidv7", id, "fraction")).isEqualTo(2048);
    }

    @Test
    void objectIdCountsThroughWhateverTheClockDoes() throws SQLException {
        IdGenerator generator = generator("objectid", 5);
        int first = (int) Objects.requireNonNull(field("objectid", generator.next(), "counter"));
        clock.show(NOW - 1000);
        String back = generator.next();

        assertThat(field("objectid", back, "counter")).isEqualTo(first + 1 & 0xff_ffff);
        assertThat(field("objectid", back, "time")).isEqualTo(Instant.ofEpochMilli(NOW - 1000));
        assertThat(Schemes.named("objectid").description().clockStep()).isEqualTo(ClockStep.GOES_BACK);
    }

    @Test
    void simpleflakeLeavesItToChance() throws SQLException {
        String id = generator("simpleflake", 5).next();
        String same = generator("simpleflake", 5).next();
        clock.show(NOW - 1000);
        IdGenerator later = generator("simpleflake", 5);

        assertThat(same).isEqualTo(id); // the same random number in the same millisecond
        assertThat(Long.parseLong(later.next())).isLessThan(Long.parseLong(id));
    }

    @Test
    void simpleflakeIsNegativeFrom2034On() throws SQLException {
        clock.show(Instant.parse("2034-11-04T00:53:47.775Z").toEpochMilli());
        assertThat(generator("simpleflake", 5).next()).doesNotStartWith("-");
        clock.show(Instant.parse("2034-11-04T00:53:47.776Z").toEpochMilli());
        assertThat(generator("simpleflake", 5).next()).startsWith("-");
    }

    @Test
    void traceIdTakesChunksOf1023() throws SQLException {
        IdGenerator generator = generator("traceid", 5);
        List<String> ids = generator.batch(1024);

        assertThat(field("traceid", ids.get(0), "counter")).isEqualTo(1);
        assertThat(field("traceid", ids.get(1022), "counter")).isEqualTo(1023);
        assertThat(field("traceid", ids.get(1022), "chunk")).isEqualTo(0);
        assertThat(field("traceid", ids.get(1023), "counter")).isEqualTo(1);
        assertThat(field("traceid", ids.get(1023), "chunk")).isEqualTo(1);
    }

    @Test
    void traceIdCountsThroughWhateverTheClockDoes() throws SQLException {
        IdGenerator generator = generator("traceid", 5);
        generator.next();
        clock.show(NOW - 1000);
        String back = generator.next();

        assertThat(field("traceid", back, "counter")).isEqualTo(2);
        assertThat(field("traceid", back, "time")).isEqualTo(Instant.ofEpochMilli(NOW - 1000));
        assertThat(Schemes.named("traceid").description().clockStep()).isEqualTo(ClockStep.GOES_BACK);
    }

    @Test
    void traceIdBeginsAgainAfter388Days() throws SQLException {
        IdGenerator now = generator("traceid", 5);
        String id = now.next();
        clock.show(NOW + 33_554_432_000L);

        assertThat(generator("traceid", 5).next()).isEqualTo(id);
    }

    @Test
    void threadsShareAGenerator() throws SQLException {
        IdGenerator generator = Schemes.named("snowflake").generator(GeneratorSettings.DEFAULT.withWorker(5));

        List<String> ids = LongStream.range(0, 40_000)
                .parallel()
                .mapToObj(i -> {
                    try {
                        return generator.next();
                    } catch (SQLException e) {
                        throw new AssertionError(e);
                    }
                })
                .toList();

        assertThat(new HashSet<>(ids)).hasSize(40_000);
    }

    @Test
    void refusesANegativeCount() throws SQLException {
        IdGenerator generator = generator("uuidv4", 5);

        assertThat(generator.batch(0)).isEmpty();
        assertThatThrownBy(() -> generator.batch(-1)).hasMessage("count -1 is negative");
    }
}
