/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import org.shardflake.scheme.SchemeDescription;

/** A scheme as it takes part: with a table of its own, whose ids are made by the database or in Java. */
sealed interface Candidate permits DatabaseCandidate, JavaCandidate {

    /** What the scheme says about itself. */
    SchemeDescription facts();

    /** The name in the report. */
    default String name() {
        return facts().name();
    }

    /** The schema of its table. */
    String schema();

    /** Its table. */
    default String table() {
        return schema() + ".item";
    }

    /** The index of its ids. */
    default String index() {
        return schema() + ".item_pkey";
    }

    /** The type of the ids. */
    IdType type();

    /** As much of it all as the scheme can do in the time that others take. */
    Sizes limit(Sizes sizes);
}
