/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

/**
 * How likely an id is of a scheme.
 *
 * @param scheme the scheme
 * @param plausibility 1, hardly, to 100, certain; a rank more than a probability
 * @param reason what speaks for it or against it
 * @param id the id, taken apart by that scheme
 */
public record Guess(Scheme scheme, int plausibility, String reason, ExplainedId id) {

    /** Refuses a plausibility out of range. */
    public Guess {
        if (plausibility < 1 || plausibility > 100) {
            throw new IllegalArgumentException("plausibility %d is out of range 1..100".formatted(plausibility));
        }
    }
}
