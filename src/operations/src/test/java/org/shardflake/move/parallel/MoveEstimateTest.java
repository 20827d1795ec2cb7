/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.parallel;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.shardflake.ShardSet;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveShard;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.ShardPhase;
import org.shardflake.move.StreamStatus;
import org.shardflake.move.Verified;
import org.shardflake.move.parallel.MoveEstimate.Part;
import org.shardflake.move.parallel.MoveEstimate.State;

class MoveEstimateTest {

    private static final long SECOND = 1_000_000_000L;
    private static final long SIZE = 1L << 30;
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final MoveRequest request = new MoveRequest("db1", "db2", ShardSet.range(0, 3));

    private static MoveSettings limited(long bytesPerSecond, int pausesPerMinute) {
        return new MoveSettings(
                2,
                1 << 30,
                bytesPerSecond,
                pausesPerMinute,
                MINUTE,
                Duration.ofMillis(90),
                Duration.ofMillis(30),
                MINUTE,
                true);
    }

    private static MoveStatus status(MovePhase phase, ShardPhase shards) {
        return status(phase, shards, shards, 0);
    }

    /** @param bytes that are copied of each shard */
    private static MoveStatus status(MovePhase phase, ShardPhase first, ShardPhase others, long bytes) {
        return status(phase, first, others, bytes, Optional.of(Instant.EPOCH));
    }

    private static MoveStatus status(
            MovePhase phase, ShardPhase first, ShardPhase others, long bytes, Optional<Instant> workedOnSince) {
        List<MoveShard> all = IntStream.range(0, 4)
                .mapToObj(shard -> new MoveShard(
                        shard,
                        shard == 0 ? first : others,
                        "db1",
                        1,
                        OptionalLong.empty(),
                        bytes,
                        Optional.of(Instant.EPOCH.plus(MINUTE)),
                        0,
                        Verified.of(""),
                        OptionalDouble.empty(),
                        Optional.empty()))
                .toList();
        Move move =
                new Move(1, "m1_000000", "db1", "db2", phase, Instant.EPOCH, Instant.EPOCH, "", "", workedOnSince, all);
        StreamStatus none = new StreamStatus(true, 0, 0, 0, "");
        return new MoveStatus(move, Map.of(0, SIZE, 1, SIZE, 2, SIZE, 3, SIZE), none, none);
    }

    @Test
    void saysNothingBeforeEnoughIsDone() {
        MoveEstimate estimate = new MoveEstimate(MoveSettings.DEFAULT);
        Part part = estimate.add(request, 4 * SIZE);
        assertThat(estimate.state(SECOND).left()).isEmpty();

        part.begun(status(MovePhase.PREPARING, ShardPhase.WAITING), 0);

        assertThat(estimate.state(SECOND)).isEqualTo(new State(1, 0, 1, 4 * SIZE, 0, 4, 0, Optional.empty()));
    }

    /** Rows alone go faster than a shard with its indexes. */
    @Test
    void aCopyIsEstimatedOnceAShardIsThroughOrAFifthOfThem() {
        Instant later = Instant.EPOCH.plus(MINUTE);
        ShardPhase waiting = ShardPhase.WAITING;

        assertThat(status(MovePhase.COPYING, waiting, waiting, SIZE / 10).timeLeft(later))
                .isEmpty();
        assertThat(status(MovePhase.COPYING, waiting, waiting, SIZE / 4).timeLeft(later))
                .contains(MINUTE.multipliedBy(3));
        assertThat(status(MovePhase.COPYING, ShardPhase.COPIED, waiting, 0).timeLeft(later))
                .contains(MINUTE.multipliedBy(3));
        assertThat(status(MovePhase.FOLLOWING, ShardPhase.COPIED, waiting, 0).timeLeft(later))
                .isEmpty();
    }

    @Test
    void aMoveWhoseCommandDiedHasNoEstimateAndAResumedOneCountsFromItsBeginning() {
        Instant later = Instant.EPOCH.plus(MINUTE.multipliedBy(10));
        ShardPhase waiting = ShardPhase.WAITING;

        assertThat(status(MovePhase.COPYING, ShardPhase.COPIED, waiting, 0, Optional.empty())
                        .timeLeft(later))
                .isEmpty();
        // Shard 0 was copied by the first command, after a minute; nothing by the second one, which began after nine.
        assertThat(status(MovePhase.COPYING, ShardPhase.COPIED, waiting, 0, Optional.of(later.minus(MINUTE)))
                        .timeLeft(later))
                .isEmpty();
    }

    /** Rows are written 1,000 at a time, so that nothing seems to happen for a while. */
    @Test
    void aCopyIsTakenToGoOnBetweenTwoReports() {
        MoveStatus quarter = status(MovePhase.COPYING, ShardPhase.WAITING, ShardPhase.WAITING, SIZE / 4);
        Instant reported = Instant.EPOCH.plus(MINUTE);

        assertThat(quarter.timeLeft(reported.plusSeconds(10))).contains(Duration.ofSeconds(170));
        // It has stopped: 0.35 of it, at most, after 10 minutes.
        assertThat(quarter.timeLeft(reported.plusSeconds(540)).orElseThrow().toSeconds())
                .isEqualTo(600 * 65 / 35);
    }

    @Test
    void theRestTakesAsLongAsWhatWasDone() {
        MoveEstimate estimate = new MoveEstimate(MoveSettings.DEFAULT);
        Part first = estimate.add(request, 4 * SIZE);
        estimate.add(new MoveRequest("db1", "db3", ShardSet.range(4, 7)), 4 * SIZE);
        first.begun(status(MovePhase.PREPARING, ShardPhase.WAITING), 0);
        first.ended();

        State state = estimate.state(100 * SECOND);

        assertThat(state.ended()).isOne();
        assertThat(state.copied()).isEqualTo(4 * SIZE);
        assertThat(state.cutOver()).isEqualTo(4);
        assertThat(state.left().orElseThrow().toSeconds()).isCloseTo(100, Percentage.withPercentage(1));
    }

    /** The pace is that of this run, whatever was done in the one before. */
    @Test
    void whatWasDoneBeforeAnInterruptionSaysNothingOfThePace() {
        MoveEstimate estimate = new MoveEstimate(MoveSettings.DEFAULT);
        Part part = estimate.add(request, 4 * SIZE);
        part.begun(status(MovePhase.FOLLOWING, ShardPhase.COPIED), 0);
        assertThat(estimate.state(10 * SECOND).left()).isEmpty();

        part.cutOver(0);
        part.compared(0);
        part.cutOver(1);
        part.compared(1);

        State state = estimate.state(10 * SECOND);
        assertThat(state.copied()).isEqualTo(4 * SIZE);
        // Half of the shards, and the last comparison, which takes as long as all of those at cutovers.
        assertThat(state.left().orElseThrow().toSeconds()).isCloseTo(30, Percentage.withPercentage(5));
    }

    @Test
    void limitsAreReckonedWith() {
        for (MoveSettings settings : List.of(limited(SIZE / 100, 0), limited(0, 1))) {
            MoveEstimate estimate = new MoveEstimate(settings);
            Part part = estimate.add(request, 4 * SIZE);
            part.begun(status(MovePhase.PREPARING, ShardPhase.WAITING), 0);
            part.shardCopied(0);

            State state = estimate.state(SECOND);

            boolean isByBytes = settings.bytesPerSecond() > 0;
            assertThat(state.left().orElseThrow().toSeconds()).isEqualTo(isByBytes ? 300 : 240);
        }
    }
}
