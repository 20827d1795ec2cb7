/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** Judges the plausibility of ids by the time in them. Almost any number contains some time; what counts is how likely it is. */
final class Plausibility {

    private static final int UNLIKELY = 3;
    private static final int RECENT = 5;
    private static final Duration CLOCK_ERROR = Duration.ofDays(1);
    private static final Duration RECENTLY = Duration.ofDays(3 * 365);

    private Plausibility() {}

    /**
     * Judges an id by its time.
     *
     * @param from the first moment at which the scheme can have made an id
     * @param best the plausibility of an id with a likely time
     * @param because further evidence for it, or nothing
     */
    static Guess byTime(Scheme scheme, ExplainedId id, Instant from, Instant now, int best, String because) {
        Instant time = id.time().orElseThrow().truncatedTo(ChronoUnit.SECONDS);
        if (time.isAfter(now.plus(CLOCK_ERROR))) {
            return new Guess(scheme, UNLIKELY, "its time %s has not come yet".formatted(time), id);
        }
        if (time.isBefore(from)) {
            return new Guess(scheme, UNLIKELY, "its time %s is before there were such ids".formatted(time), id);
        }
        int recent = time.isAfter(now.minus(RECENTLY)) ? RECENT : 0;
        return new Guess(scheme, Math.min(100, best + recent), "its time %s is likely%s".formatted(time, because), id);
    }
}
