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

    /** Called when a check before a new move has found something worth knowing that does not prevent the move. */
    default void warned(PreflightCheck check) {}

    /** Called when a step has been completed. */
    default void reached(MoveStep step) {}

    /**
     * Called when more rows have been copied.
     *
     * @param bytes of the size of the shard's tables on the source
     * @param rows of a table, or a part of one, that has all its rows now, otherwise 0
     */
    default void copied(int shard, long bytes, long rows) {}

    /** Called when a shard has been cut over. */
    default void cutOver(int shard, String server, Duration pause, int attempts) {}

    /** Called when a cutover attempt has been given up; the shard is open where it was. */
    default void attemptFailed(int shard, String reason) {}

    /** Called when the copies of a shard have been compared and differ. */
    default void compared(int shard, List<TableDifference> differences) {}

    /** Called when rows of a shard changed too often to be compared while it is in use; no other rows differ. */
    default void undecided(int shard, List<String> tables) {}

    /** Called when a shard has been copied. */
    default void shardCopied(int shard) {}

    /** Called when a server cannot follow the other one, for this reason; the server retries. */
    default void streamFails(String problem) {}

    /**
     * Called when the work has waited for a second; it continues to wait up to its time limit.
     *
     * @param what the wait, what it is for, and who holds it; told again when that changes
     */
    default void waits(String what) {}

    /** Called when a server or the catalog has failed; the work resumes after a moment. */
    default void interrupted(String problem) {}
}
