/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import java.time.LocalDate;
import java.time.ZoneOffset;

/** Shares of long tests, of which each night has another. */
final class Nights {

    private Nights() {}

    /** The share of tonight, from 0; a system property takes another. */
    static int share(int shares, String property) {
        return Integer.getInteger(property, (int) (LocalDate.now(ZoneOffset.UTC).toEpochDay() % shares));
    }

    /** The seed of tonight, from 1; {@code -Dtests.seed} takes another. */
    static long seed(int seeds) {
        return Long.getLong("tests.seed", 1 + share(seeds, "tests.night"));
    }
}
