/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;

/**
 * One way to make ids: what is in an id, and how the next one is made.
 *
 * <p>Immutable and thread-safe. {@link Schemes} has them all.
 */
public interface Scheme {

    /** What the scheme is, needs and promises. */
    SchemeDescription description();

    /** The short name that commands take, such as {@code snowflake}. */
    default String name() {
        return description().name();
    }

    /**
     * Takes an id apart.
     *
     * <p>Any id of the right form has fields, also one that this scheme never made: {@link #guess} tells how likely it did.
     *
     * @throws MalformedIdException if the text is no id of this form, saying what is wrong and what was expected
     */
    ExplainedId decode(String id);

    /**
     * How likely an id is of this scheme; nothing if it cannot be.
     *
     * @param now when the id was seen: it was made before
     */
    Optional<Guess> guess(String id, Instant now);

    /**
     * Begins to make ids. The caller closes the generator.
     *
     * @throws IllegalArgumentException if a setting that the scheme needs is missing or out of range
     * @throws NoFreeWorkerException if it needs a worker id of its own and all are claimed
     * @throws SQLException if it needs a database that cannot be reached or refuses
     */
    IdGenerator generator(GeneratorSettings settings) throws SQLException;

    /**
     * This scheme counting time from another moment than the published one.
     *
     * @throws IllegalArgumentException if it has no epoch to choose
     */
    default Scheme withEpoch(Instant epoch) {
        throw new IllegalArgumentException("scheme %s has no epoch to choose".formatted(name()));
    }
}
