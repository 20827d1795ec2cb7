/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.Locale;

/** Numbers as readers want them: three digits that count, and no more. */
public final class Figures {

    private Figures() {}

    /** A number with three significant digits, or all of them if it is whole: {@code 0.814}, {@code 12.5}, {@code 1,024,000}. */
    public static String number(double value) {
        double size = Math.abs(value);
        if (!Double.isFinite(value)) {
            return "n/a";
        }
        if (size >= 1e15 || (size > 0 && size < 1e-3)) {
            return String.format(Locale.ROOT, "%.2e", value);
        }
        if (size == Math.rint(size) || size >= 100) {
            return String.format(Locale.ROOT, "%,.0f", value);
        }
        return String.format(Locale.ROOT, "%." + (size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4) + "f", value);
    }
}
