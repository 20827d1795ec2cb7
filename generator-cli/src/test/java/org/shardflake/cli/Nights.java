/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import java.time.LocalDate;
import java.time.ZoneOffset;

/** Spreads long tests over several nights: each night runs one share. */
final class Nights {

    private Nights() {}

    /** Tonight's share, from 0; the system property overrides it. */
    static int share(int shares, String property) {
        return Integer.getInteger(property, (int) (LocalDate.now(ZoneOffset.UTC).toEpochDay() % shares));
    }

    /** Tonight's seed, from 1; {@code -Dtests.seed} overrides it. */
    static long seed(int seeds) {
        return Long.getLong("tests.seed", 1 + share(seeds, "tests.night"));
    }
}
