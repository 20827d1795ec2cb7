/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.Locale;

/**
 * The points at which a move can be interrupted. Each is told to the {@link MoveListener} when what it is named for has just
 * been done, so that a test can end the tool or a server there.
 */
public enum MoveStep {
    /** The move is in the catalog. */
    RECORDED,
    /** The shards are on the target, empty and fenced. */
    SCHEMA_CREATED,
    /** Publications are on both servers, and the subscription of the source to the target. */
    PUBLISHED,
    /** The slot on the source is there, and the snapshot that is copied. */
    SLOT_CREATED,
    /** A shard was copied. */
    SHARD_COPIED,
    /** The slot on the target is there. */
    REVERSE_SLOT_CREATED,
    /** The target follows the source. */
    SUBSCRIBED,
    /** The target has caught up. */
    CAUGHT_UP,
    /** The source would follow the target, and has been seen to. */
    REHEARSED,
    /** An attempt at cutover is in the catalog. */
    ARMED,
    /** The shard takes no writes on the server it leaves. */
    FENCED,
    /** The other server has all that was written. */
    DRAINED,
    /** The other server is open, but for a commit. */
    STAGED,
    /** The shard map names the other server. */
    SWITCHED,
    /** The other server takes writes. */
    OPENED,
    /** Both copies were compared as they were at the cutover. */
    COMPARED,
    /** The source follows no more, as long as its copies are compared for the last time. */
    REVERSE_STOPPED,
    /** Nobody can write to the source's copies. */
    SEALED,
    /** The source's copies were compared for the last time. */
    COMPARED_AGAIN,
    /** That the move is to end is in the catalog. */
    ENDING,
    /** The source no longer follows. */
    REVERSE_DROPPED,
    /** The target no longer follows. */
    FORWARD_DROPPED,
    /** A copy that is no longer wanted is gone. */
    SHARD_DROPPED,
    /** Nothing of the move is left on the servers. */
    CLEANED;

    @Override
    public String toString() {
        return name().replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
