/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

/** The standard normal distribution. */
final class Normal {

    private static final double STEP = 1e-3;
    private static final double FAR = 12;

    private Normal() {}

    /** The probability of more than this many standard deviations. By Simpson's rule, which also holds far out. */
    static double exceeds(double deviations) {
        if (deviations < 0) {
            return 1 - exceeds(-deviations);
        }
        double sum = 0;
        int steps = (int) (FAR / STEP);
        for (int i = 0; i <= steps; i++) {
            double x = deviations + i * STEP;
            int weight = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;
            sum += weight * Math.exp(-x * x / 2);
        }
        return sum * STEP / 3 / Math.sqrt(2 * Math.PI);
    }
}
