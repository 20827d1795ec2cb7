/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.Arrays;
import java.util.Collection;

/** The least, the median and the greatest measurement of several rounds of one candidate. */
public record Interval(double min, double median, double max) {

    /**
     * The spread of these values.
     *
     * @throws IllegalArgumentException without any value
     */
    public static Interval of(Collection<Double> values) {
        if (values.isEmpty()) {
            throw new IllegalArgumentException("nothing was measured");
        }
        double[] sorted = values.stream().mapToDouble(Double::doubleValue).toArray();
        Arrays.sort(sorted);
        int half = sorted.length / 2;
        double median = sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
        return new Interval(sorted[0], median, sorted[sorted.length - 1]);
    }

    /** The median, and behind it from where to where: {@code 0.81 (0.78 to 0.93)}. */
    @Override
    public String toString() {
        if (min == max) {
            return Figures.number(median);
        }
        return "%s (%s to %s)".formatted(Figures.number(median), Figures.number(min), Figures.number(max));
    }
}
