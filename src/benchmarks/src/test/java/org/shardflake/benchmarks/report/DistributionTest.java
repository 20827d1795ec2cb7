/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class DistributionTest {

    private static Distribution oneTo(int last) {
        return Distribution.of(
                IntStream.rangeClosed(1, last).mapToObj(Double::valueOf).toList());
    }

    @Test
    void percentilesAreMeasuredValues() {
        Distribution hundred = oneTo(100);

        assertThat(hundred.percentile(50)).isEqualTo(50);
        assertThat(hundred.percentile(90)).isEqualTo(90);
        assertThat(hundred.percentile(99)).isEqualTo(99);
        assertThat(hundred.percentile(99.5)).isEqualTo(100);
        assertThat(hundred.percentile(100)).isEqualTo(100);
        assertThat(hundred.max()).isEqualTo(100);
    }

    @Test
    void ofFewValuesTheHighPercentilesAreTheGreatest() {
        assertThat(oneTo(3).percentile(99)).isEqualTo(3);
        assertThat(oneTo(3).percentile(50)).isEqualTo(2);
        assertThat(oneTo(1).percentile(0.1)).isEqualTo(1);
    }

    @Test
    void refusesWhatIsNoPercentile() {
        assertThatIllegalArgumentException().isThrownBy(() -> oneTo(3).percentile(0));
        assertThatIllegalArgumentException().isThrownBy(() -> oneTo(3).percentile(100.1));
        assertThatIllegalArgumentException().isThrownBy(() -> oneTo(3).percentile(Double.NaN));
    }

    @Test
    void refusesNothingAndWhatIsNoNumber() {
        assertThatIllegalArgumentException().isThrownBy(() -> Distribution.of(List.of()));
        assertThatIllegalArgumentException().isThrownBy(() -> Distribution.of(List.of(1.0, Double.NaN)));
    }
}
