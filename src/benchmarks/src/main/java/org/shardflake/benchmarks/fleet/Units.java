/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.List;
import java.util.function.DoubleFunction;
import java.util.stream.Stream;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Spread;

/** Times, sizes and parts as people say them. */
final class Units {

    private static final double LEAST = 1e-5;
    private static final double MINUTE = 60;
    private static final double HOUR = 60 * MINUTE;
    private static final double DAY = 24 * HOUR;

    private Units() {}

    static String time(double seconds) {
        if (seconds < 2 * MINUTE) {
            return Figures.number(seconds) + " s";
        }
        if (seconds < 2 * HOUR) {
            return Figures.number(seconds / MINUTE) + " min";
        }
        return seconds < 2 * DAY ? Figures.number(seconds / HOUR) + " h" : Figures.number(seconds / DAY) + " days";
    }

    static String bytes(double bytes) {
        return bytes < 1e12 ? Figures.number(bytes / 1e9) + " GB" : Figures.number(bytes / 1e12) + " TB";
    }

    static String percent(double part) {
        if (part > 0 && part < LEAST) {
            return "< " + percent(LEAST);
        }
        return Figures.number(100 * part) + " %";
    }

    static String spread(Spread spread, DoubleFunction<String> unit) {
        return spread.min() == spread.max()
                ? unit.apply(spread.median())
                : "%s (%s to %s)"
                        .formatted(unit.apply(spread.median()), unit.apply(spread.min()), unit.apply(spread.max()));
    }

    /** A parameter as it was chosen: {@code 0.6}. */
    static String exact(double value) {
        return Double.toString(value);
    }

    static String number(double value) {
        return Figures.number(value);
    }

    static List<String> row(Object... cells) {
        return Stream.of(cells)
                .map(cell ->
                        cell instanceof Number number ? Figures.number(number.doubleValue()) : String.valueOf(cell))
                .toList();
    }
}
