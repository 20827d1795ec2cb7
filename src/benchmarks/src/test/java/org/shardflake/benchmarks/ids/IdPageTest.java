/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.ids.ClockTrials.ClockTrial;

class IdPageTest {

    @Test
    void outcomesOfAClockInWords() {
        assertThat(outcome(0, 0, 5)).isEqualTo("0");
        assertThat(outcome(1, 0, 5)).isEqualTo("1 duplicate");
        assertThat(outcome(1234, 0, 5)).isEqualTo("1,234 duplicates");
        assertThat(outcome(0, 0, 998)).isEqualTo("0, waits 1.0 s");
        assertThat(outcome(3, 870, 1001)).isEqualTo("3 duplicates, refuses 870 calls, 1.0 s without ids");
    }

    private static String outcome(long duplicates, long failures, long gap) {
        return IdPage.outcome(new ClockTrial.Outcome(10_000, duplicates, failures, gap));
    }

    /** Nothing is rounded up to all. */
    @Test
    void sharesAreRoundedDown() {
        assertThat(IdPage.percent(1)).isEqualTo("100.0 %");
        assertThat(IdPage.percent(0.99999)).isEqualTo("99.9 %");
        assertThat(IdPage.percent(0.5)).isEqualTo("50.0 %");
    }
}
