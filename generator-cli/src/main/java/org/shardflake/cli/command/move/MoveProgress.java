/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.io.PrintWriter;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.Progress;
import org.shardflake.compare.TableDifference;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.MoveStep;
import org.shardflake.move.parallel.MoveEstimate;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.preflight.PreflightCheck;

/** Reports a move's progress on stderr, and collects the numbers for its result. */
public final class MoveProgress implements MoveListener {

    private final PrintWriter err;
    private final String servers;
    private final @Nullable MovesProgress all;
    private final MoveEstimate.Part part;
    private final List<Duration> pauses = new ArrayList<>();
    private final List<Integer> undecided = new ArrayList<>();
    private Map<Integer, Long> sizes = Map.of();
    private Map<Integer, Long> counted = new HashMap<>();
    private @Nullable Progress copying;
    private String interruption = "";
    private int attemptsFailed;
    private boolean isNew;
    private boolean isResumed;

    /** Creates the progress report of a single move. */
    public MoveProgress(PrintWriter err) {
        this.err = err;
        this.servers = "";
        this.all = null;
        this.part = new MoveEstimate(MoveSettings.DEFAULT).add(new MoveRequest("", "", ShardSet.of()), 0);
    }

    /** Creates the progress report of one move among several. */
    MoveProgress(PrintWriter err, MoveRequest move, MovesProgress all, long bytes) {
        this.err = err;
        this.servers = "%s to %s: ".formatted(move.source(), move.target());
        this.all = all;
        this.part = all.add(move, bytes);
    }

    private boolean isOneOfSeveral() {
        return all != null && all.areSeveral();
    }

    /** A prefix with the move's name, for lines that would not mention it otherwise. */
    private String which() {
        return isOneOfSeveral() ? servers : "";
    }

    synchronized void begun(MoveStatus status) {
        sizes = status.bytes();
        Move move = status.move();
        if (!isNew) {
            isResumed = true;
            err.printf(
                    "resuming move %s of %s from %s to %s, which began at %s and is %s%n",
                    move.id(),
                    Amounts.shards(move.shards().size()),
                    move.source(),
                    move.target(),
                    move.startedAt().truncatedTo(ChronoUnit.SECONDS),
                    move.phase());
        }
        part.begun(status, System.nanoTime());
    }

    synchronized void ended(Move move) {
        part.ended();
        if (isOneOfSeveral()) {
            err.printf("%smove %s is done%n", which(), move.id());
        }
    }

    synchronized void failed(String problem) {
        if (isOneOfSeveral()) {
            err.printf("%sfailed: %s; running moves will finish; no new ones will start%n", which(), problem);
        }
    }

    synchronized boolean isResumed() {
        return isResumed;
    }

    /** The shards with rows that could not be compared. */
    synchronized List<Integer> undecided() {
        return List.copyOf(undecided);
    }

    @Override
    public synchronized void warned(PreflightCheck check) {
        ChecksView.warn(err, check);
    }

    @Override
    public synchronized void reached(MoveStep step) {
        part.reached(step);
        interruption = "";
        switch (step) {
            case RECORDED -> isNew = true;
            case SLOT_CREATED -> {
                counted = new HashMap<>();
                copying = isOneOfSeveral()
                        ? null
                        : Progress.ofBytes(
                                err,
                                "copying bytes",
                                sizes.values().stream()
                                        .mapToLong(Long::longValue)
                                        .sum());
            }
            case SUBSCRIBED -> {
                endCopying();
                err.printf("%s%scatching up with writes since%n", which(), counted.isEmpty() ? "" : "copied; ");
            }
            case REHEARSED -> err.println(which() + "both servers follow each other");
            case REVERSE_STOPPED -> err.println(which() + "comparing the copies before they are removed");
            case FORWARD_DROPPED ->
                err.println(which() + "replication removed; removing copies that are no longer wanted");
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
        part.copied(shard, bytes);
        count(shard, Math.min(counted.getOrDefault(shard, 0L) + bytes, sizes.getOrDefault(shard, 0L)));
    }

    @Override
    public synchronized void shardCopied(int shard) {
        part.shardCopied(shard);
        if (copying != null) {
            copying.known();
        }
        count(shard, sizes.getOrDefault(shard, 0L));
    }

    private void count(int shard, long bytes) {
        long before = counted.getOrDefault(shard, 0L);
        counted.put(shard, bytes);
        if (copying != null) {
            copying.advance(bytes - before);
        }
    }

    @Override
    public synchronized void cutOver(int shard, String server, Duration pause, int attempts) {
        part.cutOver(shard);
        pauses.add(pause);
        err.printf(
                "shard %s is on %s, after a pause of %s ms%s%n",
                shard, server, pause.toMillis(), attempts > 1 ? " and %s attempts".formatted(attempts) : "");
    }

    @Override
    public synchronized void attemptFailed(int shard, String reason) {
        attemptsFailed++;
        err.printf("shard %s: an attempt gave itself up, since %s%n", shard, reason);
    }

    @Override
    public synchronized void compared(int shard, List<TableDifference> differences) {
        part.compared(shard);
        differences.forEach(difference -> err.printf("shard %s differs: %s%n", shard, difference));
    }

    @Override
    public synchronized void undecided(int shard, List<String> tables) {
        undecided.add(shard);
        err.printf(
                "shard %s: rows of %s change too often to be compared now; all of it is compared at the cutover%n",
                shard, String.join(", ", tables));
    }

    @Override
    public synchronized void streamFails(String problem) {
        endCopying();
        err.printf("%swarning: %s%n", which(), problem);
    }

    @Override
    public synchronized void waits(String what) {
        endCopying();
        err.printf("%swaiting: %s%n", which(), what);
    }

    @Override
    public synchronized void interrupted(String problem) {
        endCopying();
        if (!problem.equals(interruption)) { // It is tried again twice a second.
            err.printf("%sinterrupted: %s; continuing%n", which(), problem);
        }
        interruption = problem;
    }

    /** The write pauses of this run, in the order of the cutovers. */
    public synchronized List<Duration> pauses() {
        return List.copyOf(pauses);
    }

    synchronized int attemptsFailed() {
        return attemptsFailed;
    }
}
