/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

/**
 * Makes control characters visible in text for a terminal, since stored values may come from anyone: one could otherwise clear the screen,
 * retitle the window, or pass for a line of ours.
 */
public final class Visible {

    private Visible() {}

    /** A text for a table's cell, on one line. */
    public static String line(String text) {
        return show(text, false);
    }

    /** A message, possibly of several lines. */
    public static String lines(String text) {
        return show(text, true);
    }

    /** JSON with control characters written as escapes, which every parser reads; they can occur in strings only. */
    static String inJson(String json) {
        return show(json, true);
    }

    private static String show(String text, boolean keepsLines) {
        if (text.chars().noneMatch(c -> isSent(c, keepsLines))) {
            return text;
        }
        StringBuilder shown = new StringBuilder(text.length() + 16);
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!isSent(c, keepsLines)) {
                shown.append(c);
                continue;
            }
            shown.append('\\');
            switch (c) {
                case '\n' -> shown.append('n');
                case '\r' -> shown.append('r');
                case '\t' -> shown.append('t');
                default -> shown.append('u').append(hex(c));
            }
        }
        return shown.toString();
    }

    private static String hex(char c) {
        return "%1$4s".formatted(Integer.toHexString(c)).replace(' ', '0');
    }

    private static boolean isSent(int c, boolean keepsLines) {
        if (keepsLines && (c == '\n' || c == '\t')) {
            return false;
        }
        return Character.isISOControl(c) || isReordering(c) || c == '\u2028' || c == '\u2029';
    }

    /** Whether a character changes the direction of text, and so can make it look like another text. */
    private static boolean isReordering(int c) {
        return (c >= '\u202A' && c <= '\u202E') || (c >= '\u2066' && c <= '\u2069');
    }
}
