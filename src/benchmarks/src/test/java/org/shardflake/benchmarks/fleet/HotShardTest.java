/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class HotShardTest {

    @Test
    void hasTheNormalDistributionOfTheTables() {
        assertThat(Normal.exceeds(0)).isEqualTo(0.5, within(1e-9));
        assertThat(Normal.exceeds(1.959963984540054)).isEqualTo(0.025, within(1e-9));
        assertThat(Normal.exceeds(-1)).isEqualTo(0.841344746068543, within(1e-9));
        assertThat(Normal.exceeds(3)).isEqualTo(1.349898031630095e-3, within(1e-11));
        assertThat(Normal.exceeds(6)).isEqualTo(9.865876450377e-10, within(1e-18));
    }

    @Test
    void agreesWithFleetsDrawnAtRandom() {
        HotShard hot = new HotShard(8192, 256, 1);
        assertThat(hot.simulated(600, new Random(5))).isEqualTo(hot.probability(), within(0.06));
    }

    @Test
    void countsTheShardsThatAreHotterThanAServer() {
        for (double exponent : Setting.EXPONENTS) {
            double[] shares = Zipf.shares(Setting.SHARDS, exponent);
            for (int servers : Setting.SERVERS) {
                assertThat(Arrays.stream(shares).filter(share -> share > 1.0 / servers))
                        .hasSize(HotShardsPart.hotterThanAServer(exponent, servers));
            }
        }
    }

    @Test
    void noPlacementIsBelowTheHottestShard() {
        double[] shares = Zipf.shares(Setting.SHARDS, 1);
        assertThat(HotShardsPart.bestFound(shares, 64))
                .isEqualTo(RebalancePart.floor(64, 1), within(1e-9))
                .isEqualTo(64 / Zipf.harmonic(8192, 1), within(1e-9));
        assertThat(HotShardsPart.bestFound(shares, 8)).isEqualTo(1, within(1e-3));
    }
}
