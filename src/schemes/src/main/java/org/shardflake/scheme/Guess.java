/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

/**
 * An estimate of how likely an id belongs to a scheme.
 *
 * @param scheme the scheme
 * @param plausibility from 1, hardly, to 100, certain; a rank, not a probability
 * @param reason the evidence for or against it
 * @param id the id, decoded by that scheme
 */
public record Guess(Scheme scheme, int plausibility, String reason, ExplainedId id) {

    /** Refuses a plausibility out of range. */
    public Guess {
        if (plausibility < 1 || plausibility > 100) {
            throw new IllegalArgumentException("plausibility %s is out of range 1..100".formatted(plausibility));
        }
    }
}
