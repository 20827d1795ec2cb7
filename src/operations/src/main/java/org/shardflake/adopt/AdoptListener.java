/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;

/** Receives the progress of an adoption. */
public interface AdoptListener {

    /** Ignores everything. */
    AdoptListener NONE = new AdoptListener() {};

    /** Reports copied rows and the estimated total. */
    default void copied(long rows, long estimate) {}

    /** Reports the number of changes that this run has brought over so far. */
    default void followed(long changes) {}

    /**
     * Triggers were not as the adoption had created them, and are again.
     *
     * @param problems what was wrong
     * @param someLeft whether shards have left the old database, which may have accepted writes to them
     */
    default void repaired(List<String> problems, boolean someLeft) {}

    /** Called when a shard has left the old database. */
    default void left(SliceReport report) {}

    /** Called when a rehearsal has shown that a shard could leave the old database; the shard stays there. */
    default void rehearsed(SliceReport report) {}

    /** Called when a shard has come back to the old database. */
    default void cameBack(SliceReport report) {}

    /** Called when shards have come back whose lookup values the old database can now change without the lookups noticing. Reported once. */
    default void lookupValuesStay() {}

    /** Called when the table refuses writes. */
    default void closed(String table) {}

    /** Called when rows break a foreign key that is NOT VALID in the shards. */
    default void brokenForeignKey(String key) {}

    /** Called when a reference table has rows that its old table lacks: newer ones, or some that were deleted there. */
    default void onlyInReference(ReferenceComparison table) {}

    /** Called when the table accepts writes again because the adoption could not be finished. */
    default void opened(String table) {}

    /** Called when the table could neither be finished nor opened. */
    default void leftClosed(String table) {}
}
