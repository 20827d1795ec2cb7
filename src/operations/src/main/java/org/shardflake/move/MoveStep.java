/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.Locale;

/**
 * The points at which a move can be interrupted. The {@link MoveListener} is told of each right after it has happened, so that a test
 * can end the tool or a server there.
 */
public enum MoveStep {
    /** The move is recorded in the catalog. */
    RECORDED,
    /** The shards are on the target, empty and fenced. */
    SCHEMA_CREATED,
    /** Both servers have publications, and the source has its subscription to the target. */
    PUBLISHED,
    /** The source has the slot, and the snapshot to copy exists. */
    SLOT_CREATED,
    /** A part of a large shard was copied. */
    PART_COPIED,
    /** An index of a large shard was built, after its parts. */
    INDEX_BUILT,
    /** A shard was copied. */
    SHARD_COPIED,
    /** The target has the slot. */
    REVERSE_SLOT_CREATED,
    /** The target follows the source. */
    SUBSCRIBED,
    /** The target has caught up. */
    CAUGHT_UP,
    /** The source can follow the target, as verified. */
    REHEARSED,
    /** An open shard and the copy that follows it were compared. */
    FOUND_EQUAL,
    /** A cutover attempt is recorded in the catalog. */
    ARMED,
    /** The shard refuses writes on the server it leaves. */
    FENCED,
    /** The other server has received everything written. */
    DRAINED,
    /** The other server is open except for the commit. */
    STAGED,
    /** The shard map names the other server. */
    SWITCHED,
    /** The other server accepts writes. */
    OPENED,
    /** Both copies were compared as of the cutover. */
    COMPARED,
    /** The source has stopped following for the duration of the last comparison. */
    REVERSE_STOPPED,
    /** Writes to the source's copies are refused. */
    SEALED,
    /** The source's copies were compared for the last time. */
    COMPARED_AGAIN,
    /** The catalog records that the move is to end. */
    ENDING,
    /** The source no longer follows. */
    REVERSE_DROPPED,
    /** The target no longer follows. */
    FORWARD_DROPPED,
    /** An unwanted copy was removed. */
    SHARD_DROPPED,
    /** The servers have no trace of the move. */
    CLEANED;

    @Override
    public String toString() {
        return name().replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
