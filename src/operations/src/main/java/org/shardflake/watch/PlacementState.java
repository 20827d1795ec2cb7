/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.watch;

import java.util.Locale;

/** The state of a shard on one server. */
public enum PlacementState {
    /** The map gives the shard to the server, which accepts writes to it. */
    OPEN,
    /** The map gives the shard to the server, which refuses writes to it. */
    CLOSED,
    /** The map gives the shard to the server, which refuses writes to it since it has come back to an old database. */
    BACK,
    /** A move has the shard, or the shard has just changed servers. */
    MOVING,
    /** The map gives the shard to the server, which does not have it. */
    MISSING,
    /** The map gives the shard to another server, but this one accepts writes to it. */
    MISPLACED,
    /** The map gives the shard to the server, which does not answer. */
    UNKNOWN;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
