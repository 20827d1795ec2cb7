/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.report.Spread;

class GoalTest {

    @Test
    void theMedianDecides() {
        assertThat(Goal.atMost("time", 0.45, new Spread(0.3, 0.45, 0.9)).met()).isTrue();
        assertThat(Goal.atMost("time", 0.45, new Spread(0.3, 0.451, 0.9)).met()).isFalse();
        assertThat(Goal.atLeast("rate", 0.9, new Spread(0.5, 0.9, 1.1)).met()).isTrue();
        assertThat(Goal.atLeast("rate", 0.9, new Spread(0.5, 0.899, 1.1)).met()).isFalse();
        assertThat(Goal.atLeast("rate", 0.9, new Spread(Double.NaN, Double.NaN, Double.NaN))
                        .met())
                .isFalse();
    }

    @Test
    void oneDuplicateIsTooMany() {
        assertThat(Goal.noDuplicates(0).met()).isTrue();
        assertThat(Goal.noDuplicates(1).met()).isFalse();
    }

    /** Its function would be all that one could wish, if its ids did not repeat. */
    @Test
    void onlyDuplicatesKeepInstagramsFunctionOut() {
        Candidate instagram = DuplicatesTest.candidate("instagram");

        assertThat(Goal.hasAll(instagram.facts(), 0)).isTrue();
        assertThat(Goal.hasAll(instagram.facts(), 1)).isFalse();
    }

    @Test
    void noOtherHasAllWithoutDuplicates() {
        assertThat(Candidates.all().stream()
                        .filter(candidate -> Goal.hasAll(candidate.facts(), 0))
                        .map(Candidate::name))
                .containsExactly("shardflake", "instagram");
    }

    @Test
    void saysWhatWasMissed() {
        assertThat(Goal.atMost("time", 0.45, new Spread(0.4, 0.5, 0.6)))
                .hasToString("time: 0.50 (0.40 to 0.60), goal at most 0.45: NOT MET");
    }
}
