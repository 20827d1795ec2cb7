/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.report.Rounds.Measurement;

class RoundsTest {

    @Test
    void takesTheMiddleOfAnOddNumberAndTheMeanOfTwoMiddles() {
        assertThat(Interval.of(List.of(9.0, 1.0, 4.0))).isEqualTo(new Interval(1, 4, 9));
        assertThat(Interval.of(List.of(9.0, 1.0, 4.0, 5.0))).isEqualTo(new Interval(1, 4.5, 9));
        assertThatThrownBy(() -> Interval.of(List.of())).hasMessage("nothing was measured");
    }

    @Test
    void beginsEachRoundWithAnotherCandidateAndThrowsWarmUpsAway() {
        List<String> turns = new ArrayList<>();
        Map<String, Measurement<RuntimeException>> candidates = new LinkedHashMap<>();
        for (String name : List.of("a", "b", "c")) {
            candidates.put(name, () -> {
                turns.add(name);
                return turns.size();
            });
        }
        Rounds rounds = Rounds.run(1, 2, candidates);
        assertThat(String.join("", turns)).isEqualTo("cab" + "abc" + "bca");
        assertThat(rounds.candidates()).containsExactly("a", "b", "c");
        assertThat(rounds.of("a")).isEqualTo(new Interval(4, 6.5, 9));
        assertThat(rounds.of("b")).isEqualTo(new Interval(5, 6, 7));
    }

    @Test
    void dividesRoundByRound() {
        Rounds rounds = new Rounds();
        for (double slowdown : new double[] {1, 10, 3}) {
            rounds.add("base", 2 * slowdown);
            rounds.add("ours", slowdown);
        }
        assertThat(rounds.ratio("ours", "base")).isEqualTo(new Interval(0.5, 0.5, 0.5));
        assertThatThrownBy(() -> rounds.ratio("ours", "theirs"))
                .hasMessage("no candidate theirs, there are base, ours");
        rounds.add("ours", 1);
        assertThatThrownBy(() -> rounds.ratio("ours", "base")).hasMessage("ours has 4 rounds, base has 3");
    }
}
