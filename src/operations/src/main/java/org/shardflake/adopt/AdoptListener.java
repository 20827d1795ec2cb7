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

    /** Reports the number of changes that this run has brought over so far. */
    default void followed(long changes) {}

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

    /** Called when the table accepts writes again because the adoption could not be finished. */
    default void opened(String table) {}

    /** Called when the table could neither be finished nor opened. */
    default void leftClosed(String table) {}
}
