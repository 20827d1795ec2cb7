/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;

/**
 * An id scheme: decodes its ids and generates new ones.
 *
 * <p>Immutable and thread-safe. {@link Schemes} has them all.
 */
public interface Scheme {

    /** The scheme's layout, needs and guarantees. */
    SchemeDescription description();

    /** The short name that commands take, such as {@code snowflake}. */
    default String name() {
        return description().name();
    }

    /**
     * Decodes an id into its fields.
     *
     * <p>Any id of the right form has fields, even one that this scheme never made: {@link #guess} tells how likely it
     * did.
     *
     * @throws MalformedIdException if the text is not an id of this form, saying what is wrong and what was expected
     */
    ExplainedId decode(String id);

    /**
     * Estimates how likely an id is of this scheme; empty if it cannot be.
     *
     * @param now when the id was seen, so it was made before
     */
    Optional<Guess> guess(String id, Instant now);

    /**
     * Creates a generator of ids. The caller closes it.
     *
     * @throws IllegalArgumentException if a setting that the scheme needs is missing or out of range
     * @throws NoFreeWorkerException if it needs a worker id of its own and all are claimed
     * @throws SQLException if it needs a database that cannot be reached or refuses
     */
    IdGenerator generator(GeneratorSettings settings) throws SQLException;

    /**
     * Returns this scheme with a different epoch from the published one.
     *
     * @throws IllegalArgumentException if its epoch cannot be chosen
     */
    default Scheme withEpoch(Instant epoch) {
        throw new IllegalArgumentException("scheme %s has no epoch to choose".formatted(name()));
    }
}
