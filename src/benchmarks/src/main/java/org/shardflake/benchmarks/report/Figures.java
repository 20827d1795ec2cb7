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

    /** A number as short as it can be beside an axis: {@code 20 k}, {@code 0.5}, {@code 1e-6}. */
    static String tick(double value) {
        double size = Math.abs(value);
        if (size >= 1e15 || (size > 0 && size < 1e-4)) {
            return shortest(String.format(Locale.ROOT, "%.1e", value))
                    .replaceFirst("\\.0e", "e")
                    .replaceFirst("e([+-])0", "e$1")
                    .replace("e+", "e");
        }
        for (int power = 12; power >= 3; power -= 3) {
            if (size >= Math.pow(10, power) * (power == 3 ? 10 : 1)) {
                return shortest(String.format(Locale.ROOT, "%.3f", value / Math.pow(10, power))) + " "
                        + "kMGT".charAt(power / 3 - 1);
            }
        }
        return shortest(String.format(Locale.ROOT, "%.4f", value));
    }

    private static String shortest(String number) {
        return number.contains(".") && !number.contains("e") ? number.replaceFirst("\\.?0+$", "") : number;
    }
}
