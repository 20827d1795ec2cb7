/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.Locale;

/** The phase of a whole move. */
public enum MovePhase {
    /** The target's schemas, both publications and the slot are being created; the slot waits for writing transactions. */
    PREPARING,
    /** Rows are being copied. */
    COPYING,
    /** The target applies the changes made since the copy. */
    CATCHING_UP,
    /** Both streams run, and shards can be cut over one by one in either direction. */
    FOLLOWING,
    /** Everything except the shards on the target is being removed; there is no way back. */
    COMPLETING,
    /** Everything except the shards on the source is being removed. */
    CANCELLING;

    static MovePhase of(String text) {
        return valueOf(text.replace(' ', '_').toUpperCase(Locale.ROOT));
    }

    /** The name used in the catalog and shown to people. */
    @Override
    public String toString() {
        return name().replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
