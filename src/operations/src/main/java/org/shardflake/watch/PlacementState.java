/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.watch;

import java.util.Locale;

/** The state of a shard on one server. */
public enum PlacementState {
    /** The map gives it to the server, which takes writes to it. */
    OPEN,
    /** The map gives it to the server, which refuses writes to it. */
    CLOSED,
    /** The map gives it to the server, which refuses writes to it since it has come back to the old database of an adoption. */
    BACK,
    /** A move has it, or it has just changed its server. */
    MOVING,
    /** The map gives it to the server, which does not have it. */
    MISSING,
    /** The map gives it to another server, and this one takes writes to it. */
    MISPLACED,
    /** The map gives it to the server, which does not answer. */
    UNKNOWN;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
