/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.output.Progress;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveStep;
import org.shardflake.move.PreflightCheck;
import org.shardflake.move.TableDifference;

/** Says on stderr how a move gets on, and keeps what its result needs. */
final class MoveProgress implements MoveListener {

    private final PrintWriter err;
    private final AtomicLong copied = new AtomicLong();
    private final List<Duration> pauses = new ArrayList<>();
    private long expectedBytes;
    private @Nullable Progress copying;
    private int attemptsFailed;

    MoveProgress(PrintWriter err) {
        this.err = err;
    }

    /** How much there will be to copy. */
    synchronized void expect(long bytes) {
        expectedBytes = bytes;
    }

    synchronized void warn(List<PreflightCheck> warnings) {
        warnings.forEach(warning -> err.printf("warning: %s: %s%n", warning.name(), warning.found()));
    }

    @Override
    public synchronized void reached(MoveStep step) {
        switch (step) {
            case SLOT_CREATED ->
                copying = Progress.on(err, Progress.isTerminal()).start("copying bytes", expectedBytes);
            case SUBSCRIBED -> {
                endCopying();
                err.println("copied; catching up with what was written since");
            }
            case REHEARSED -> err.println("both servers follow each other");
            case FORWARD_DROPPED -> err.println("replication removed; removing copies that are no longer wanted");
            default -> {
                // Not worth a line.
            }
        }
    }

    private void endCopying() {
        if (copying != null) {
            copying.close();
            copying = null;
        }
    }

    @Override
    public synchronized void copied(int shard, long bytes, long rows) {
        copied.addAndGet(bytes);
        if (copying != null) {
            copying.advance(bytes);
        }
    }

    @Override
    public synchronized void cutOver(int shard, String server, Duration pause, int attempts) {
        pauses.add(pause);
        err.printf(
                "shard %d is on %s, after a pause of %d ms%s%n",
                shard, server, pause.toMillis(), attempts > 1 ? " and %d attempts".formatted(attempts) : "");
    }

    @Override
    public synchronized void attemptFailed(int shard, String reason) {
        attemptsFailed++;
        err.printf("shard %d: an attempt gave itself up, since %s%n", shard, reason);
    }

    @Override
    public synchronized void compared(int shard, List<TableDifference> differences) {
        differences.forEach(difference -> err.printf("shard %d differs: %s%n", shard, difference));
    }

    @Override
    public synchronized void interrupted(String problem) {
        endCopying();
        err.printf("interrupted: %s; going on%n", problem);
    }

    /** Write pauses of this run, in the order of the cutovers. */
    synchronized List<Duration> pauses() {
        return List.copyOf(pauses);
    }

    synchronized int attemptsFailed() {
        return attemptsFailed;
    }
}
