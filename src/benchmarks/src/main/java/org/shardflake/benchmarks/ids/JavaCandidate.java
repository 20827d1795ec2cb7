/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.SQLException;
import java.util.function.UnaryOperator;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.LongIdGenerator;
import org.shardflake.scheme.Scheme;
import org.shardflake.scheme.SchemeDescription;

/**
 * A scheme whose ids an application makes and sends with its rows.
 *
 * @param variant what the settings of its generators differ in
 * @param pace how much it can do
 * @param numberedByHardware whether all generators of a machine take the same node id unless told otherwise
 */
record JavaCandidate(
        SchemeDescription facts,
        Scheme scheme,
        IdType type,
        UnaryOperator<GeneratorSettings> variant,
        Pace pace,
        boolean numberedByHardware)
        implements Candidate {

    /** What keeps a scheme from making as many ids as others. */
    enum Pace {
        FULL,
        /** As fast as any, but ids made in one millisecond can be the same. */
        BY_CHANCE,
        /** 64 ids in a millisecond. */
        BOUNDED,
        /** A commit on another server for each. */
        TICKETS
    }

    @Override
    public Sizes limit(Sizes sizes) {
        return switch (pace) {
            case FULL, BY_CHANCE -> sizes;
            case BOUNDED -> sizes.forBoundedPace();
            case TICKETS -> sizes.forTickets();
        };
    }

    @Override
    public String schema() {
        return "bench_" + name().replaceAll("[^a-z0-9]+", "_");
    }

    IdGenerator generator(GeneratorSettings settings) throws SQLException {
        return scheme.generator(variant.apply(settings));
    }

    /** Whether an application has to look for ids that repeat among those it makes at once. */
    boolean isByChance() {
        return pace == Pace.BY_CHANCE;
    }

    /** The next id as the driver takes it. */
    Object next(IdGenerator generator) throws SQLException {
        return generator instanceof LongIdGenerator numbers
                ? (Object) numbers.nextLong()
                : type.value(generator.next());
    }
}
