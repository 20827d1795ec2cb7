/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Instant;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IdLayoutTest {

    private static final IdLayout INSTAGRAM = new IdLayout(1_314_220_021_721L);

    private static final long EPOCH = IdLayout.DEFAULT.epochMillis();
    private static final long LAST = EPOCH + IdLayout.MAX_ELAPSED_MILLIS;

    @Test
    void makesThePublishedExample() {
        long id = IdLayout.DEFAULT.encode(EPOCH + 1_387_263_000L, 31_341 % 2000, 5001 % 1024);

        assertThat(id).isEqualTo(11_637_205_501_278_089L).isEqualTo(0x2957FA0C14F789L);
        // Shifting the shard by 63-41-13, as one account does, would overlap the sequence.
        assertThat(id).isNotEqualTo(11_637_205_500_590_985L);
    }

    @ParameterizedTest
    @CsvSource({
        "1293840000000, 11637205501278089,  2011-01-17T01:21:03Z,     1341, 905",
        "1314220021721, 11637205501278089,  2011-09-09T22:28:04.721Z, 1341, 905",
        "1314220021721, 908540701891980503, 2015-01-29T10:15:13.321Z, 4187, 215",
    })
    void takesPublishedIdsApartAndMakesThemAgain(long epoch, long id, Instant time, int shard, int sequence) {
        IdLayout layout = new IdLayout(epoch);

        assertThat(layout.time(id)).isEqualTo(time);
        assertThat(IdLayout.shard(id)).isEqualTo(shard);
        assertThat(IdLayout.sequence(id)).isEqualTo(sequence);
        assertThat(layout.encode(time.toEpochMilli(), shard, sequence)).isEqualTo(id);
    }

    @Test
    void makesAndReadsTheSameFields() {
        SplittableRandom random = new SplittableRandom(20250101);
        for (int i = 0; i < 100_000; i++) {
            long time = random.nextLong(EPOCH, LAST + 1);
            int shard = random.nextInt(IdLayout.MAX_SHARD + 1);
            int sequence = random.nextInt(IdLayout.MAX_SEQUENCE + 1);

            long id = IdLayout.DEFAULT.encode(time, shard, sequence);

            assertThat(id).isNotNegative();
            assertThat(IdLayout.DEFAULT.timeMillis(id)).isEqualTo(time);
            assertThat(IdLayout.shard(id)).isEqualTo(shard);
            assertThat(IdLayout.sequence(id)).isEqualTo(sequence);
        }
    }

    @Test
    void keepsEachFieldInItsOwnBits() {
        assertThat(IdLayout.DEFAULT.encode(EPOCH, 0, 0)).isZero();
        assertThat(IdLayout.DEFAULT.encode(EPOCH, 0, 1023)).isEqualTo(0x3FFL);
        assertThat(IdLayout.DEFAULT.encode(EPOCH, 8191, 0)).isEqualTo(0x7FFC00L);
        assertThat(IdLayout.DEFAULT.encode(LAST, 0, 0)).isEqualTo(0x7FFFFFFFFF800000L);
        assertThat(IdLayout.DEFAULT.encode(LAST, 8191, 1023)).isEqualTo(Long.MAX_VALUE);
    }

    @ParameterizedTest
    @CsvSource({
        "-1,          0,    shard -1 is out of range 0..8191",
        "8192,        0,    shard 8192 is out of range 0..8191",
        "9000,        0,    shard 9000 is out of range 0..8191",
        "-2147483648, 0,    shard -2147483648 is out of range 0..8191",
        "0,           -1,   sequence -1 is out of range 0..1023",
        "0,           1024, sequence 1024 is out of range 0..1023",
    })
    void refusesAFieldThatDoesNotFit(int shard, int sequence, String message) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> IdLayout.DEFAULT.encode(EPOCH, shard, sequence))
                .withMessage(message);
    }

    @Test
    void refusesATimeBeforeTheEpoch() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> IdLayout.DEFAULT.encode(EPOCH - 1, 0, 0))
                .withMessage("time 2024-12-31T23:59:59.999Z is before the epoch 2025-01-01T00:00:00Z; "
                        + "ids hold times 2025-01-01T00:00:00Z..2059-11-04T19:53:47.775Z");
    }

    @Test
    void refusesATimeThatWouldReachTheSignBit() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> IdLayout.DEFAULT.encode(LAST + 1, 0, 0))
                .withMessage(
                        "time 2059-11-04T19:53:47.776Z is after 2059-11-04T19:53:47.775Z, when ids of this epoch run out; "
                                + "ids hold times 2025-01-01T00:00:00Z..2059-11-04T19:53:47.775Z");
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, Long.MAX_VALUE})
    void refusesTimesFarAway(long timeMillis) {
        assertThatIllegalArgumentException().isThrownBy(() -> IdLayout.DEFAULT.encode(timeMillis, 0, 0));
    }

    @ParameterizedTest
    @CsvSource({
        "1735689600000, 2059-11-04T19:53:47.775Z",
        "1314220021721, 2046-06-27T17:00:49.496Z",
        "0,             2004-11-03T19:53:47.775Z",
    })
    void knowsWhenTheTimeRunsOut(long epoch, Instant expires) {
        IdLayout layout = new IdLayout(epoch);

        assertThat(layout.expires()).isEqualTo(expires);
        assertThat(layout.time(Long.MAX_VALUE)).isEqualTo(expires);
    }

    @Test
    void readsIdsWithTheTopBitSetAsUnsigned() {
        assertThat(INSTAGRAM.time(Long.MIN_VALUE)).isEqualTo("2046-06-27T17:00:49.497Z");
        assertThat(INSTAGRAM.time(-1)).isEqualTo("2081-04-30T12:54:37.272Z");
        assertThat(IdLayout.elapsedMillis(-1)).isEqualTo((1L << 41) - 1);
        assertThat(IdLayout.shard(-1)).isEqualTo(8191);
        assertThat(IdLayout.sequence(-1)).isEqualTo(1023);
        // What the published function returns one millisecond before its epoch.
        assertThat(IdLayout.elapsedMillis(-8_388_608)).isEqualTo((1L << 41) - 1);
        assertThat(IdLayout.shard(-8_388_608)).isZero();
    }

    @ParameterizedTest
    @CsvSource({"4187, 215", "4187, 1005", "8191, 1023"})
    void readsHighShardsAndSequencesAsPositive(int shard, int sequence) {
        long id = IdLayout.DEFAULT.encode(EPOCH, shard, sequence);

        assertThat(IdLayout.shard(id)).isEqualTo(shard);
        assertThat(IdLayout.sequence(id)).isEqualTo(sequence);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"2026-11-20T12:00:00.123Z", "2026-11-20T12:00:00.123456789Z", "2026-11-20T12:00:00.123999999Z"})
    void boundsCoverTheWholeMillisecond(Instant time) {
        long millis = time.toEpochMilli();

        assertThat(IdLayout.DEFAULT.minId(time)).isEqualTo(IdLayout.DEFAULT.encode(millis, 0, 0));
        assertThat(IdLayout.DEFAULT.maxId(time)).isEqualTo(IdLayout.DEFAULT.encode(millis, 8191, 1023));
        assertThat(IdLayout.DEFAULT.minId(time.plusMillis(1))).isEqualTo(IdLayout.DEFAULT.maxId(time) + 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1000000000-01-01T00:00:00Z", "2024-12-31T23:59:59.999999999Z"})
    void boundsBeforeTheEpochEncloseNoId(Instant time) {
        assertThat(IdLayout.DEFAULT.minId(time)).isZero();
        assertThat(IdLayout.DEFAULT.maxId(time)).isEqualTo(-1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "2059-11-04T19:53:47.775999999Z",
                "2059-11-04T19:53:47.776Z",
                "+1000000000-12-31T23:59:59.999999999Z"
            })
    void boundsOfATimeAfterTheLastInstantAreThoseOfTheLastInstant(Instant time) {
        assertThat(IdLayout.DEFAULT.minId(time)).isEqualTo(IdLayout.DEFAULT.encode(LAST, 0, 0));
        assertThat(IdLayout.DEFAULT.maxId(time)).isEqualTo(Long.MAX_VALUE);
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 8_640_000_000_000L, Long.MIN_VALUE, Long.MAX_VALUE})
    void refusesAnEpochThatNoDatabaseTakes(long epoch) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new IdLayout(epoch))
                .withMessage(
                        "epoch %s is out of range 0..8639999999999, UTC milliseconds "
                                + "(1970-01-01T00:00:00Z..2243-10-16T23:59:59.999Z)",
                        epoch);
    }
}
