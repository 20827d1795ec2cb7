/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class ScaleTest {

    @Test
    void ticksRoundNumbersAroundTheValues() {
        assertThat(Scale.linear(0, 0.93, 0, 100).ticks())
                .hasSizeBetween(4, 7)
                .startsWith(0.0)
                .endsWith(1.0);
        assertThat(Scale.linear(0, 10, 0, 100).ticks()).containsExactly(0.0, 2.0, 4.0, 6.0, 8.0, 10.0);
        assertThat(Scale.linear(0, 0, 0, 100).ticks()).hasSizeGreaterThan(1);
        assertThat(Scale.logarithmic(64, 512, 0, 100).ticks()).containsExactly(50.0, 100.0, 200.0, 500.0, 1000.0);
        assertThat(Scale.logarithmic(1e-12, 1, 0, 100).ticks()).hasSizeBetween(4, 8);
        assertThat(Scale.logarithmic(10, 10, 0, 100).ticks()).containsExactly(10.0, 20.0);
    }

    @Test
    void placesValuesByDifferenceOrByRatio() {
        Scale linear = Scale.linear(0, 10, 100, 200);
        assertThat(linear.at(0)).isEqualTo(100);
        assertThat(linear.at(5)).isEqualTo(150);
        Scale logarithmic = Scale.logarithmic(1, 10_000, 200, 100);
        assertThat(logarithmic.at(1)).isEqualTo(200);
        assertThat(logarithmic.at(100)).isCloseTo(150, within(1e-9));
        assertThatThrownBy(() -> Scale.logarithmic(0, 1, 0, 100)).hasMessage("0.0 has no place on a logarithmic axis");
    }

    @Test
    void keepsEveryValueInside() {
        for (double max = 0.001; max < 1e9; max *= 1.7) {
            assertThat(Scale.linear(0, max, 0, 100).at(max)).isBetween(50.0, 100.0001);
            assertThat(Scale.logarithmic(0.001, max, 0, 100).at(max)).isBetween(0.0, 100.0001);
        }
    }
}
