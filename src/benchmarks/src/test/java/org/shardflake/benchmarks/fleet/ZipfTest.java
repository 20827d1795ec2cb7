/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class ZipfTest {

    @Test
    void hasTheHarmonicNumbersOfTheTables() {
        assertThat(Zipf.harmonic(4, 1)).isEqualTo(25 / 12.0, within(1e-12));
        assertThat(Zipf.harmonic(10, 1)).isEqualTo(7381 / 2520.0, within(1e-12));
        assertThat(Zipf.harmonic(100, 1)).isEqualTo(5.187377517639621, within(1e-12));
        assertThat(Zipf.harmonic(8192, 0)).isEqualTo(8192);
    }

    @Test
    void comesNearToTheZetaFunction() {
        assertThat(Zipf.harmonic(8192, 2)).isEqualTo(Math.PI * Math.PI / 6 - 1 / 8192.5, within(1e-9));
    }

    @Test
    void sharesOutTheWholeLoad() {
        double[] shares = Zipf.shares(8192, 0.8);
        assertThat(Arrays.stream(shares).sum()).isEqualTo(1, within(1e-12));
        assertThat(shares[0]).isEqualTo(Zipf.hottest(8192, 0.8));
        assertThat(shares[0] / shares[31]).isEqualTo(16, within(1e-9));
    }
}
