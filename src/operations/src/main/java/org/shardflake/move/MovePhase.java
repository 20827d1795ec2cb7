/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.Locale;

/** How far a move as a whole is. */
public enum MovePhase {
    /** The target's schemas and both publications are being made. */
    PREPARING,
    /** Rows are being copied. */
    COPYING,
    /** The target applies what was written since the copy. */
    CATCHING_UP,
    /** Both streams run, and shards can be cut over in either direction, one by one. */
    FOLLOWING,
    /** All of it is being removed but the shards on the target; there is no way back. */
    COMPLETING,
    /** All of it is being removed but the shards on the source. */
    CANCELLING;

    static MovePhase of(String text) {
        return valueOf(text.replace(' ', '_').toUpperCase(Locale.ROOT));
    }

    /** As the catalog has it, and people read it. */
    @Override
    public String toString() {
        return name().replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
