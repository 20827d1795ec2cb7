/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.Arrays;
import java.util.Collection;

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

    /** The number of values. */
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
}
