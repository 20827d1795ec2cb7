/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.time.Duration;
import java.util.Locale;

/** Writes amounts with their units. */
public final class Amounts {

    private static final int ALWAYS_WHOLE = 100;

    private Amounts() {}

    public static String shards(int count) {
        return count == 1 ? "1 shard" : count + " shards";
    }

    public static String bytes(long bytes) {
        if (bytes < 1024) {
            return bytes + " B";
        }
        int unit = (63 - Long.numberOfLeadingZeros(bytes)) / 10;
        return String.format(Locale.ROOT, "%.1f %ciB", (double) bytes / (1L << (unit * 10)), " KMGTPE".charAt(unit));
    }

    public static String duration(Duration duration) {
        return duration.toSeconds() < 60
                ? duration.toSeconds() + " s"
                : "%s min %s s".formatted(duration.toMinutes(), duration.toSecondsPart());
    }

    /** A rate per second, as text without the unit. */
    public static String rate(double rate) {
        return tenths(rate) == 0 || rate >= ALWAYS_WHOLE
                ? String.format(Locale.ROOT, "%,d", Math.round(rate))
                : String.format(Locale.ROOT, "%.1f", rate);
    }

    /** A number rounded to a tenth. */
    public static double tenths(double number) {
        return Math.round(number * 10) / 10.0;
    }
}
