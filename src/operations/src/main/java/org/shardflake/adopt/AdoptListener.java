/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

/** Receives the progress of an adoption. */
public interface AdoptListener {

    /** Ignores everything. */
    AdoptListener NONE = new AdoptListener() {};

    /** Reports copied rows and the estimated total. */
    default void copied(long rows, long estimate) {}

    /** Reports the changes brought over by this run so far. */
    default void followed(long changes) {}

    /** A shard has left the old database. */
    default void left(SliceReport report) {}

    /** A shard could have left the old database, and stays there. */
    default void rehearsed(SliceReport report) {}

    /** A shard has come back to the old database. */
    default void cameBack(SliceReport report) {}

    /** Lookups find rows of shards that have come back by values that the old database can change now. Reported once. */
    default void lookupValuesStay() {}

    /** The table takes no more writes. */
    default void closed(String table) {}

    /** A foreign key that is NOT VALID in the shards has rows that break it. */
    default void brokenForeignKey(String key) {}

    /** The table takes writes again because the adoption could not be finished. */
    default void opened(String table) {}

    /** The table could neither be finished nor opened. */
    default void leftClosed(String table) {}
}
