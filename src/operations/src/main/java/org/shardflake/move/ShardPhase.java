/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.Locale;

/** The phase of one shard in a move. */
public enum ShardPhase {
    /** The shard is not copied completely yet. */
    WAITING,
    /** The shard is also on the target, which follows. */
    COPIED,
    /** A cutover attempt is in progress, or was when its process stopped. */
    CUTTING_OVER,
    /** The shard is on the target, and the source follows. */
    SWITCHED;

    static ShardPhase of(String text) {
        return valueOf(text.replace(' ', '_').toUpperCase(Locale.ROOT));
    }

    /** The name used in the catalog and shown to people. */
    @Override
    public String toString() {
        return name().replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
