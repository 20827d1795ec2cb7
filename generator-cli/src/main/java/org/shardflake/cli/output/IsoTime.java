/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.time.LocalDate;

/** Writes times in the format of {@link java.time.Instant#toString}, several times faster. */
public final class IsoTime {

    private static final int SECOND = 1000;
    private static final int MINUTE = 60 * SECOND;
    private static final int HOUR = 60 * MINUTE;
    private static final int DAY = 24 * HOUR;

    private IsoTime() {}

    /** Appends a time between the years 0 and 9999, with three decimals unless they are zero. */
    public static StringBuilder append(StringBuilder out, long millis) {
        LocalDate date = LocalDate.ofEpochDay(Math.floorDiv(millis, (long) DAY));
        appendTwo(out, date.getYear() / 100);
        appendTwo(out, date.getYear() % 100);
        appendTwo(out.append('-'), date.getMonthValue());
        appendTwo(out.append('-'), date.getDayOfMonth());
        int time = Math.floorMod(millis, DAY);
        appendTwo(out.append('T'), time / HOUR);
        appendTwo(out.append(':'), time % HOUR / MINUTE);
        appendTwo(out.append(':'), time % MINUTE / SECOND);
        int rest = time % SECOND;
        if (rest != 0) {
            out.append('.').append((char) ('0' + rest / 100));
            appendTwo(out, rest % 100);
        }
        return out.append('Z');
    }

    private static void appendTwo(StringBuilder out, int number) {
        out.append((char) ('0' + number / 10)).append((char) ('0' + number % 10));
    }
}
