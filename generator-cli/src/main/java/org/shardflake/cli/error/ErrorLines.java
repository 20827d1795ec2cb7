/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.error;

import java.util.Locale;

/** Shortens lines of messages for terminals and logs. */
public final class ErrorLines {

    private static final int LONGEST = 500;

    private ErrorLines() {}

    /** The line, cut off if it is too long. */
    public static String abbreviated(String line) {
        if (line.length() <= LONGEST) {
            return line;
        }
        String end = String.format(Locale.ROOT, " ... (%,d characters)", line.length());
        return line.substring(0, LONGEST - end.length()) + end;
    }
}
