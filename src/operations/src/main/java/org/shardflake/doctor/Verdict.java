/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

/** The conclusion for one shard from what the catalog and the servers report. */
sealed interface Verdict {

    /**
     * The shard is where the map has it.
     *
     * @param isProven whether no other server can have newer rows
     */
    record Fits(boolean isProven) implements Verdict {}

    /**
     * The catalog is older than the servers: the shard is elsewhere, or its epoch is higher.
     *
     * @param epoch the epoch that the map must have for it
     */
    record Behind(String server, long epoch, String why) implements Verdict {}

    /** The servers' contents do not show where the shard is. */
    record Doubtful(String why) implements Verdict {}

    /**
     * No reachable server has the shard.
     *
     * @param silent servers that cannot be reached
     * @param wasDeployed why it must have existed there
     */
    record Missing(String silent, String wasDeployed) implements Verdict {}

    /** A move has the shard, or the shard was placed a moment ago. */
    record Unsettled() implements Verdict {}

    /** Whether nothing may be opened, closed or removed with this verdict. */
    default boolean isInDoubt() {
        return this instanceof Behind || this instanceof Doubtful;
    }
}
