/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/** Many values of one kind, and how they are spread. Immutable. */
public final class Distribution {

    private final double[] sorted;

    private Distribution(double[] sorted) {
        this.sorted = sorted;
    }

    /**
     * The distribution of these values.
     *
     * @throws IllegalArgumentException if there are none, or one is not a number
     */
    public static Distribution of(Collection<Double> values) {
        double[] sorted = values.stream().mapToDouble(Double::doubleValue).toArray();
        if (sorted.length == 0 || Arrays.stream(sorted).anyMatch(Double::isNaN)) {
            throw new IllegalArgumentException("no distribution of " + values);
        }
        Arrays.sort(sorted);
        return new Distribution(sorted);
    }

    /** How many values. */
    public int size() {
        return sorted.length;
    }

    /**
     * The least value that so many percent of all are not above.
     *
     * @throws IllegalArgumentException if it is not above 0 and at most 100
     */
    public double percentile(double percent) {
        if (!(percent > 0 && percent <= 100)) {
            throw new IllegalArgumentException("percentile %s is out of range 0..100".formatted(percent));
        }
        return sorted[(int) Math.ceil(sorted.length * percent / 100 - 1e-9) - 1];
    }

    /** The greatest value. */
    public double max() {
        return sorted[sorted.length - 1];
    }

    /**
     * A round width for bins, so that there are few.
     *
     * @param bins at most
     */
    public double binWidth(int bins) {
        double power = 1;
        while (true) {
            for (double step : new double[] {1, 2, 5}) {
                if (max() / (step * power) < bins) {
                    return step * power;
                }
            }
            power *= 10;
        }
    }

    /**
     * How many values are in each bin: the first begins at zero, the last ends behind the greatest value.
     *
     * @param width of a bin, in the values' unit; a value on the border is in the upper bin
     */
    public List<Integer> histogram(double width) {
        int[] bins = new int[(int) (max() / width) + 1];
        for (double value : sorted) {
            bins[(int) (value / width)]++;
        }
        return Arrays.stream(bins).boxed().toList();
    }
}
