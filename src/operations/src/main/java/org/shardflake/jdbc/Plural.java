/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.util.Locale;

/** A number with its noun, as in "1 row" and "24,019 rows". */
public final class Plural {

    private Plural() {}

    /**
     * The number and the noun, with an s unless the number is 1.
     *
     * @param noun in the singular, one that takes an s
     */
    public static String of(long count, String noun) {
        return String.format(Locale.ROOT, "%,d %s%s", count, noun, count == 1 ? "" : "s");
    }
}
