/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The text of a row's key, as PostgreSQL writes a row: {@code (7,"a b")}. */
final class KeyText {

    /** Compares by the bytes of UTF-8, independent of servers' encodings and collations. */
    static final Comparator<String> ORDER = KeyText::compare;

    private KeyText() {}

    /** Compares by code points; in UTF-16, those above 65535 come before some others. */
    private static int compare(String one, String other) {
        int end = Math.min(one.length(), other.length());
        for (int i = 0; i < end; i++) {
            char a = one.charAt(i);
            char b = other.charAt(i);
            if (a != b) {
                boolean isPairInOne = Character.isSurrogate(a) && !Character.isSurrogate(b);
                boolean isPairInOther = Character.isSurrogate(b) && !Character.isSurrogate(a);
                return isPairInOne ? 1 : isPairInOther ? -1 : Character.compare(a, b);
            }
        }
        return Integer.compare(one.length(), other.length());
    }

    /** The text of each column. No column of a key is null. */
    static List<String> values(String key) {
        List<String> values = new ArrayList<>();
        StringBuilder value = new StringBuilder();
        boolean isQuoted = false;
        for (int i = 1; i < key.length() - 1; i++) {
            char next = key.charAt(i);
            if (next == '"' && !(isQuoted && key.charAt(i + 1) == '"')) {
                isQuoted = !isQuoted;
            } else if (next == ',' && !isQuoted) {
                values.add(value.toString());
                value.setLength(0);
            } else {
                if (next == '"' || next == '\\') {
                    i++; // Each of them is written twice.
                }
                value.append(next);
            }
        }
        values.add(value.toString());
        return values;
    }
}
