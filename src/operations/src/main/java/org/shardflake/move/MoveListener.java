/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.time.Duration;
import java.util.List;

/** Hears how a move gets on. Called by the threads that do the work; what it throws stops them. */
public interface MoveListener {

    /** Hears nothing. */
    MoveListener NONE = new MoveListener() {};

    /** A step has just been done. */
    default void reached(MoveStep step) {}

    /** More was copied. */
    default void copied(int shard, long bytes, long rows) {}

    /** A shard was cut over. */
    default void cutOver(int shard, String server, Duration pause, int attempts) {}

    /** An attempt at cutover gave itself up, and the shard is open where it was. */
    default void attemptFailed(int shard, String reason) {}

    /** Copies of a shard were compared, and differ in this. */
    default void compared(int shard, List<TableDifference> differences) {}

    /** Rows of a shard changed too often to be compared while it is written to; no others differ. */
    default void undecided(int shard, List<String> tables) {}

    /** A shard is copied. */
    default void shardCopied(int shard) {}

    /** A server cannot follow the other one, for this reason; it tries again by itself. */
    default void streamFails(String problem) {}

    /** A server or the catalog failed; the work is taken up again after a moment. */
    default void interrupted(String problem) {}
}
