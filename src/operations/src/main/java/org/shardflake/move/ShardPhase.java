/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.Locale;

/** How far one shard of a move is. */
public enum ShardPhase {
    /** Nothing is copied yet. */
    WAITING,
    /** On the target too, which follows. */
    COPIED,
    /** An attempt at cutover is under way, or was when whoever made it stopped. */
    CUTTING_OVER,
    /** On the target, and the source follows. */
    SWITCHED;

    static ShardPhase of(String text) {
        return valueOf(text.replace(' ', '_').toUpperCase(Locale.ROOT));
    }

    /** As the catalog has it, and people read it. */
    @Override
    public String toString() {
        return name().replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
