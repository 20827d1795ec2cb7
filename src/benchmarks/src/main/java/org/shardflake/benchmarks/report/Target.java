/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.List;
import java.util.Locale;

/** A goal, the measured value, and whether the goal is met. The median decides. */
public record Target(String what, String wanted, String measured, boolean met) {

    /** The headers of a table of targets. */
    public static final List<String> HEADERS = List.of("What", "Goal", "Measured", "Met");

    /** A goal that the value is at most this. */
    public static Target atMost(String what, double most, String unit, Interval measured) {
        return of(what, "at most", most, unit, measured, measured.median() <= most);
    }

    /** A goal that the value is at least this. */
    public static Target atLeast(String what, double least, String unit, Interval measured) {
        return of(what, "at least", least, unit, measured, measured.median() >= least);
    }

    /** A count that has to be zero. */
    public static Target none(String what, long count) {
        return new Target(what, "0", String.format(Locale.ROOT, "%,d", count), count == 0);
    }

    private static Target of(String what, String direction, double limit, String unit, Interval measured, boolean met) {
        String suffix = unit.isEmpty() ? "" : " " + unit;
        return new Target(what, "%s %s%s".formatted(direction, Figures.number(limit), suffix), measured + suffix, met);
    }

    /** The goal as a row of a table with {@link #HEADERS}. */
    public List<String> row() {
        return List.of(what, wanted, measured, met ? "yes" : "**no**");
    }

    @Override
    public String toString() {
        return "%s: %s, goal %s: %s".formatted(what, measured, wanted, met ? "met" : "NOT MET");
    }
}
