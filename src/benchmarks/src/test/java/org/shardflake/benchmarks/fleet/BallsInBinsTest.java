/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import org.junit.jupiter.api.Test;

class BallsInBinsTest {

    /** What one server has, the others have not, so the formula is a little low: half as much with twice the servers. */
    @Test
    void comesNearerToTheExactValueTheMoreServersThereAre() {
        assertThat(tooLow(8)).isBetween(0.03, 0.04);
        assertThat(tooLow(16)).isBetween(0.015, 0.025);
        assertThat(tooLow(30)).isBetween(0.01, 0.015);
    }

    private static double tooLow(int servers) {
        return 1 - new BallsInBins(4 * servers, servers).imbalance() / exact(4 * servers, servers);
    }

    @Test
    void theExactValueIsThatOfAllWaysToThrowThem() {
        // Two balls in two bins: both in one in two of four ways. Three: 2 * 3 of 8 ways, and 6 * 2.
        assertThat(exact(2, 2)).isEqualTo(1.5, within(1e-12));
        assertThat(exact(3, 2) * 1.5).isEqualTo((2 * 3 + 6 * 2) / 8.0, within(1e-12));
    }

    /** Counts the ways to throw the balls so that no bin has more than this, by bins: binomial numbers times what is left. */
    private static double exact(int balls, int bins) {
        double expected = 0;
        for (int most = 0; most < balls; most++) {
            double[] probability = new double[balls + 1];
            probability[balls] = 1;
            for (int bin = 0; bin < bins; bin++) {
                probability = throwInto(probability, most, bins - bin);
            }
            expected += 1 - probability[0];
        }
        return expected / ((double) balls / bins);
    }

    /** Each of the balls that are left goes into this bin with a probability of one in the bins that are left. */
    private static double[] throwInto(double[] left, int most, int bins) {
        double[] after = new double[left.length];
        for (int balls = 0; balls < left.length; balls++) {
            for (int into = 0; into <= Math.min(most, balls); into++) {
                after[balls - into] += left[balls] * binomial(balls, into, 1.0 / bins);
            }
        }
        return after;
    }

    private static double binomial(int n, int k, double p) {
        double value = Math.pow(p, k) * Math.pow(1 - p, n - k);
        for (int i = 1; i <= k; i++) {
            value *= (double) (n - k + i) / i;
        }
        return value;
    }

    @Test
    void agreesWithThrowing() {
        double[] alike = Zipf.shares(16 * 512, 0);
        Random random = new Random(3);
        double mean = 0;
        for (int trial = 0; trial < 200; trial++) {
            mean += Fleet.atRandom(alike, 512, random).imbalance() / 200;
        }
        assertThat(new BallsInBins(8192, 512).imbalance()).isEqualTo(mean, within(0.02 * mean));
    }

    @Test
    void theRuleOfThumbHoldsForManyShards() {
        BallsInBins many = new BallsInBins(64 * 4096, 64);
        assertThat(many.roughImbalance()).isEqualTo(many.imbalance(), within(0.02));
    }

    @Test
    void findsTheFewestShards() {
        int enough = BallsInBins.shardsPerServer(64, 1.5);
        assertThat(new BallsInBins(enough * 64, 64).imbalance()).isLessThanOrEqualTo(1.5);
        assertThat(new BallsInBins((enough - 1) * 64, 64).imbalance()).isGreaterThan(1.5);
    }
}
