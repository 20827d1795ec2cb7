/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** Finds the existing name that a mistyped one probably means. */
public final class Suggestion {

    /** The maximum number of wrong letters. */
    private static final int TYPOS = 2;

    private Suggestion() {}

    /** The name most similar to a text, if any is similar enough. */
    public static Optional<String> find(String written, Collection<String> names) {
        return names.stream()
                .filter(name -> distance(written, name) <= Math.min(TYPOS, name.length() - 1))
                .min(Comparator.comparingInt(name -> distance(written, name)));
    }

    /** The Levenshtein distance: the number of letters to insert, remove or replace, ignoring case. */
    private static int distance(String one, String other) {
        String from = one.toLowerCase(Locale.ROOT);
        String to = other.toLowerCase(Locale.ROOT);
        int[] row = new int[to.length() + 1];
        for (int j = 0; j <= to.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= from.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int exchanged = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(exchanged, Math.min(row[j], row[j - 1]) + 1);
            }
        }
        return row[to.length()];
    }
}
