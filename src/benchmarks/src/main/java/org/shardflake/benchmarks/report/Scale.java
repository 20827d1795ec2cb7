/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.ArrayList;
import java.util.List;

/** An axis: where a value lies on it, and which values are written beside it. */
final class Scale {

    private static final double[] STEPS = {1, 2, 5, 10};
    private static final int TICKS = 6;

    private final boolean logarithmic;
    private final double start;
    private final double end;
    private final double low;
    private final double high;
    private final List<Double> ticks;

    private Scale(boolean logarithmic, double start, double end, double low, double high, List<Double> ticks) {
        this.logarithmic = logarithmic;
        this.start = start;
        this.end = end;
        this.low = low;
        this.high = high;
        this.ticks = ticks;
    }

    /** Equal distances for equal differences, from the tick below the least value to the one above the greatest. */
    static Scale linear(double min, double max, double start, double end) {
        double range = max > min ? max - min : Math.max(Math.abs(max), 1);
        double power = Math.pow(10, Math.floor(Math.log10(range / TICKS)));
        double step = 10 * power;
        for (int i = STEPS.length - 1; i >= 0 && range / (STEPS[i] * power) <= TICKS; i--) {
            step = STEPS[i] * power;
        }
        long first = (long) Math.floor(min / step + 1e-9);
        long last = Math.max(first + 1, (long) Math.ceil(max / step - 1e-9));
        List<Double> ticks = new ArrayList<>();
        for (long i = first; i <= last; i++) {
            ticks.add(i * step);
        }
        return new Scale(false, start, end, first * step, last * step, ticks);
    }

    /** Equal distances for equal ratios. */
    static Scale logarithmic(double min, double max, double start, double end) {
        if (!(min > 0)) {
            throw new IllegalArgumentException("%s has no place on a logarithmic axis".formatted(min));
        }
        int first = (int) Math.floor(Math.log10(min) + 1e-9);
        int last = Math.max(first + 1, (int) Math.ceil(Math.log10(max) - 1e-9));
        List<Double> ticks = new ArrayList<>();
        if (last - first <= 3) {
            for (int power = first; power <= last; power++) {
                for (double step : new double[] {1, 2, 5}) {
                    ticks.add(step * Math.pow(10, power));
                }
            }
            double low = last(ticks, min);
            double high = first(ticks, Math.max(max, low * 2));
            ticks.removeIf(tick -> tick < low || tick > high);
            return new Scale(true, start, end, low, high, ticks);
        }
        int every = (last - first + TICKS - 1) / TICKS;
        for (int power = first; power <= last; power += every) {
            ticks.add(Math.pow(10, power));
        }
        return new Scale(true, start, end, Math.pow(10, first), Math.pow(10, last), ticks);
    }

    private static double last(List<Double> ticks, double atMost) {
        return ticks.stream().filter(tick -> tick <= atMost * (1 + 1e-9)).reduce(ticks.get(0), (a, b) -> b);
    }

    private static double first(List<Double> ticks, double atLeast) {
        return ticks.stream()
                .filter(tick -> tick >= atLeast * (1 - 1e-9))
                .findFirst()
                .orElse(ticks.get(ticks.size() - 1));
    }

    double at(double value) {
        double part = logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
        return start + part * (end - start);
    }

    List<Double> ticks() {
        return ticks;
    }
}
