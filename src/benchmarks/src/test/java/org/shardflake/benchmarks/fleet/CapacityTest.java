/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.shardflake.IdLayout;

class CapacityTest {

    @Test
    void doublingFrom64To8192TakesSevenYears() {
        Capacity capacity = new Capacity(8192, 2e12);
        assertThat(capacity.years(128e12, 1, 1)).isEqualTo(7, within(1e-12));
        assertThat(capacity.years(128e12, 1, 16)).isEqualTo(3, within(1e-12));
        // After seven years it is full, after eight too full.
        assertThat(capacity.simulated(128e12, 1, 1)).isEqualTo(8);
        assertThat(capacity.simulated(128e12, 0.5, 1)).isEqualTo((int) Math.ceil(capacity.years(128e12, 0.5, 1)));
    }

    @Test
    void theSequenceCountsOnWithinThreeMillisecondsAndJumpsBeyond() {
        TickSequence sequence = new TickSequence();
        assertThat(sequence.draw(100)).isEqualTo(100);
        assertThat(sequence.draw(103)).isEqualTo(100);
        assertThat(sequence.draw(104)).isEqualTo(104);
        assertThat(sequence.draw(50)).isEqualTo(104);
    }

    @Test
    void aThousandAndTwentyFourIdsAreAMillisecond() {
        TickSequence sequence = new TickSequence();
        for (int i = 0; i < 1024; i++) {
            assertThat(sequence.draw(7)).isEqualTo(7);
        }
        assertThat(sequence.draw(7)).isEqualTo(8);
        assertThat(TickSequence.PER_SECOND).isEqualTo(1000.0 * (IdLayout.MAX_SEQUENCE + 1));
    }

    @Test
    void aBurstAgreesWithTheFormula() {
        Burst burst = Burst.simulate(3_072_000, 256_000);
        assertThat(burst.lead()).isEqualTo(TickSequence.lead(3_072_000, 1), within(0.005));
        assertThat(TickSequence.lead(3_072_000, 1)).isEqualTo(2, within(1e-9));
        assertThat(burst.catchUp()).isEqualTo(TickSequence.catchUp(2, 256_000), within(0.005));
        assertThat(TickSequence.lead(1_000_000, 1)).isZero();
    }
}
