/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TargetTest {

    @Test
    void theMedianDecides() {
        assertThat(Target.atMost("pause", 100, "ms", new Interval(3, 100, 900)).met())
                .isTrue();
        assertThat(Target.atMost("pause", 100, "ms", new Interval(3, 100.1, 900))
                        .met())
                .isFalse();
        assertThat(Target.atLeast("ratio", 1, "", new Interval(0.5, 1, 2)).met())
                .isTrue();
        assertThat(Target.atLeast("ratio", 1, "", new Interval(0.5, 0.99, 2)).met())
                .isFalse();
    }

    @Test
    void whatIsNoNumberIsNotMet() {
        Interval nothing = new Interval(Double.NaN, Double.NaN, Double.NaN);

        assertThat(Target.atMost("pause", 100, "ms", nothing).met()).isFalse();
        assertThat(Target.atLeast("ratio", 1, "", nothing).met()).isFalse();
    }

    @Test
    void oneIsTooManyWhereThereAreToBeNone() {
        assertThat(Target.none("lost", 0).met()).isTrue();
        assertThat(Target.none("lost", 1).met()).isFalse();
    }

    @Test
    void saysWhatWasMissed() {
        Target missed = Target.atMost("pause", 100, "ms", new Interval(3, 120, 900));

        assertThat(missed).hasToString("pause: 120 (3 to 900) ms, goal at most 100 ms: NOT MET");
        assertThat(missed.row()).containsExactly("pause", "at most 100 ms", "120 (3 to 900) ms", "**no**");
        assertThat(Target.HEADERS).hasSameSizeAs(missed.row());
    }
}
