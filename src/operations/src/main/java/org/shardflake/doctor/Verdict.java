/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

/** What follows, for one shard, from what the catalog and the servers say of it. */
sealed interface Verdict {

    /**
     * The shard is where the map has it.
     *
     * @param isProven whether no other server can have newer rows
     */
    record Fits(boolean isProven) implements Verdict {}

    /**
     * The catalog is older than the servers: the shard is elsewhere, or has been counted on.
     *
     * @param epoch what the map has to count for it
     */
    record Behind(String server, long epoch, String why) implements Verdict {}

    /** Nothing decides between what the servers have. */
    record Doubtful(String why) implements Verdict {}

    /**
     * No server that can be asked has the shard.
     *
     * @param silent servers that cannot be asked
     * @param wasDeployed why it must have been there
     */
    record Missing(String silent, String wasDeployed) implements Verdict {}

    /** A move has the shard, or it was placed just now. */
    record Unsettled() implements Verdict {}

    /** Whether nothing is to be opened, closed or removed while this is so. */
    default boolean isInDoubt() {
        return this instanceof Behind || this instanceof Doubtful;
    }
}
