/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.fleet.Rebalancing.Move;

class DrainTest {

    private static final MoveTime TEN_BYTES_A_SECOND = new MoveTime(10, 1, 0.5);

    @Test
    void isTheSizeOverTheBandwidthWithoutWrites() {
        double half = MoveTime.ofNetwork(1, 0.5);
        assertThat(half).isEqualTo(62.5e6);
        assertThat(new Drain(2e12, half, 0).seconds()).isEqualTo(32_000);
    }

    @Test
    void takesTwiceAsLongWithWritesOfHalfTheBandwidth() {
        Drain drain = new Drain(1000, 10, 5);
        assertThat(drain.seconds()).isEqualTo(200);
        assertThat(drain.kept()).isEqualTo(500);
    }

    @Test
    void agreesWithTheSimulation() {
        Drain drain = new Drain(1e6, 10, 4);
        assertThat(drain.simulated(new Random(6))).isEqualTo(drain.seconds(), within(0.02 * drain.seconds()));
        assertThat(new Drain(105, 10, 0).simulated(new Random(6))).isEqualTo(10.5, within(1e-12));
    }

    @Test
    void refusesWhatNeverEnds() {
        assertThatThrownBy(() -> new Drain(1, 10, 10)).hasMessageContaining("it never ends");
    }

    @Test
    void aMoveHasAFixedTimeAndOneForEachShard() {
        assertThat(TEN_BYTES_A_SECOND.seconds(100, 4)).isEqualTo(1 + 10 + 2);
        assertThat(TEN_BYTES_A_SECOND.inTurn(List.of(new Move(0, 1, 4, 100), new Move(0, 2, 2, 0))))
                .isEqualTo(15);
    }

    @Test
    void movesOfOtherServersRunAtOnce() {
        List<Move> apart = List.of(new Move(0, 1, 0, 90), new Move(2, 3, 0, 90));
        assertThat(Schedule.simulate(apart, TEN_BYTES_A_SECOND, 4)).isEqualTo(10);
        List<Move> oneSource = List.of(new Move(0, 1, 0, 90), new Move(0, 2, 0, 90));
        assertThat(Schedule.simulate(oneSource, TEN_BYTES_A_SECOND, 4)).isEqualTo(20);
        assertThat(Schedule.shortest(oneSource, TEN_BYTES_A_SECOND, 4)).isEqualTo(20);
    }

    /** A triangle: each server has two moves, but no two of the three moves can run at once. */
    @Test
    void aScheduleMayBeLongerThanItsBusiestServer() {
        List<Move> triangle = List.of(new Move(0, 1, 0, 90), new Move(1, 2, 0, 90), new Move(2, 0, 0, 90));
        assertThat(Schedule.shortest(triangle, TEN_BYTES_A_SECOND, 3)).isEqualTo(20);
        assertThat(Schedule.simulate(triangle, TEN_BYTES_A_SECOND, 3)).isEqualTo(30);
    }
}
