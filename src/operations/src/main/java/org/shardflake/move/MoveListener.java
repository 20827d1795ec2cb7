/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.time.Duration;
import java.util.List;
import org.shardflake.compare.TableDifference;
import org.shardflake.preflight.PreflightCheck;

/** Receives the progress of a move. Called by the working threads; an exception it throws stops them. */
public interface MoveListener {

    /** Ignores everything. */
    MoveListener NONE = new MoveListener() {};

    /** A check before a new move found something to know of, which does not prevent it. */
    default void warned(PreflightCheck check) {}

    /** A step has just been done. */
    default void reached(MoveStep step) {}

    /**
     * Called when more rows have been copied.
     *
     * @param bytes of the size of the shard's tables on the source
     * @param rows of a table, or a part of one, that has all its rows now, otherwise 0
     */
    default void copied(int shard, long bytes, long rows) {}

    /** A shard was cut over. */
    default void cutOver(int shard, String server, Duration pause, int attempts) {}

    /** A cutover attempt gave up, and the shard is open where it was. */
    default void attemptFailed(int shard, String reason) {}

    /** Copies of a shard were compared and differ in these rows. */
    default void compared(int shard, List<TableDifference> differences) {}

    /** Rows of a shard changed too often to compare while it takes writes; no others differ. */
    default void undecided(int shard, List<String> tables) {}

    /** A shard has been copied. */
    default void shardCopied(int shard) {}

    /** Called when a server cannot follow the other one, for this reason; the server retries. */
    default void streamFails(String problem) {}

    /**
     * Called when the work has waited for something for a second; it continues to wait while patience lasts.
     *
     * @param what the wait, what it is for, and who holds it; told again when that changes
     */
    default void waits(String what) {}

    /** A server or the catalog failed; the work resumes after a moment. */
    default void interrupted(String problem) {}
}
