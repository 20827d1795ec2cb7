/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveShard;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.move.parallel.ParallelMoves;
import org.shardflake.rebalance.PlanRun;

/** Carries out moves from beginning to end, several at a time, and records the pauses and duration of each. */
public final class WholeMoves implements ParallelMoves.Watcher {

    private final PrintWriter err;
    private final MoveMixin moves;
    private final CopyMixin copying;
    private final ParallelMixin parallel;
    private final MoveSettings settings;
    private final boolean keep;
    private final List<Done> done = new ArrayList<>();
    private final Map<MoveRequest, MoveProgress> progresses = new ConcurrentHashMap<>();
    private @Nullable MovesProgress all;

    /** The result of moving shards from one source to one target. */
    private record Done(Move move, List<Duration> pauses, Duration took, boolean isResumed) {}

    /** Runs moves with the default write pause, and completes each of them. */
    public WholeMoves(MoveMixin moves, CopyMixin copying, ParallelMixin parallel) {
        this(moves, copying, parallel, MoveSettings.DEFAULT.pause(), false);
    }

    /**
     * @param pause the longest write pause of a cutover attempt; an attempt that would take longer gives up
     * @param keep whether to leave moves uncompleted, so that they can be reversed
     */
    WholeMoves(MoveMixin moves, CopyMixin copying, ParallelMixin parallel, Duration pause, boolean keep) {
        this.moves = moves;
        this.copying = copying;
        this.parallel = parallel;
        this.settings =
                moves.settings(usual -> parallel.fill(copying.fill(usual)).pause(pause));
        this.keep = keep;
        this.err = moves.err();
    }

    /** Finishes interrupted moves; returns the number of their shards. */
    public int finish(Predicate<Move> which) throws InterruptedException {
        List<MoveRequest> begun = moves.mover(settings, MoveListener.NONE).moves().stream()
                .filter(move -> which.test(move) && move.phase() != MovePhase.CANCELLING)
                .map(MoveRequest::of)
                .toList();
        run(begun);
        return begun.stream().mapToInt(move -> move.shards().size()).sum();
    }

    public void run(List<MoveRequest> wanted) throws InterruptedException {
        work(engine -> engine.run(wanted).size());
    }

    /** Carries out a plan; returns the number of shards moved. */
    public int run(PlanRun plan) throws InterruptedException {
        return work(plan::run);
    }

    @FunctionalInterface
    private interface Work {
        int run(ParallelMoves engine) throws InterruptedException;
    }

    private int work(Work work) throws InterruptedException {
        progresses.clear();
        try (MovesProgress together = new MovesProgress(err, settings)) {
            all = together;
            return work.run(parallel.moves(moves.mover(settings, moves.progress()), copying.reason(), keep, this));
        } catch (ShardflakeException e) {
            throw e.kind() != Kind.VERIFICATION && areCutOver() ? CutoverView.partly(e) : e;
        }
    }

    /** Whether all shards have been cut over, by this run or an earlier run of the same command. */
    private synchronized boolean areCutOver() {
        return progresses.values().stream()
                        .anyMatch(progress -> !progress.pauses().isEmpty())
                || done.stream().anyMatch(move -> !move.pauses().isEmpty());
    }

    private MovesProgress all() {
        return Objects.requireNonNull(all);
    }

    private MoveProgress progress(MoveRequest move) {
        return Objects.requireNonNull(progresses.get(move));
    }

    @Override
    public MoveListener wanted(MoveRequest move, long bytes) {
        MoveProgress progress = new MoveProgress(err, move, all(), bytes);
        progresses.put(move, progress);
        return progress;
    }

    @Override
    public void limited(String found) {
        err.printf("warning: %s%n", found);
    }

    @Override
    public void begun(MoveRequest request, MoveStatus status) {
        moves.begun(status.move());
        progress(request).begun(status);
    }

    @Override
    public synchronized void ended(Move move, Duration took) {
        MoveProgress progress = progress(MoveRequest.of(move));
        progress.ended(move);
        done.add(new Done(move, progress.pauses(), took, progress.isResumed()));
        done.sort(Comparator.comparing(finished -> finished.move().id()));
    }

    @Override
    public void failed(MoveRequest move, RuntimeException failure) {
        progress(move).failed(String.valueOf(failure.getMessage()));
    }

    public synchronized boolean isEmpty() {
        return done.isEmpty();
    }

    public synchronized List<Map<String, Object>> facts() {
        return done.stream().map(this::facts).toList();
    }

    private Map<String, Object> facts(Done done) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("move", done.move().id());
        facts.put("from", done.move().source());
        facts.put("to", done.move().target());
        facts.put("shards", done.move().shardSet().toString());
        facts.put("rows", rows(done.move()));
        facts.put("bytes", bytes(done.move()));
        facts.put("seconds", done.took().toSeconds());
        facts.put("resumed", done.isResumed());
        facts.put("completed", !keep);
        if (!done.pauses().isEmpty()) {
            facts.put("pauseMillis", CutoverView.pauses(done.pauses()));
        }
        return facts;
    }

    private static long rows(Move move) {
        return move.shards().stream().mapToLong(MoveShard::rows).sum();
    }

    private static long bytes(Move move) {
        return move.shards().stream().mapToLong(MoveShard::bytes).sum();
    }

    public synchronized String text() {
        TableWriter table = new TableWriter(
                        "MOVE", "FROM", "TO", "SHARDS", "ROWS", "SENT", "TIME", "PAUSE P50", "P99", "MAX")
                .mayLeaveOut("SENT", "ROWS", "PAUSE P50");
        for (Done move : done) {
            Map<String, Object> pauses = move.pauses().isEmpty() ? Map.of() : CutoverView.pauses(move.pauses());
            table.row(
                    move.move().id(),
                    move.move().source(),
                    move.move().target(),
                    TableWriter.shorten(move.move().shardSet()),
                    String.format(Locale.ROOT, "%,d", rows(move.move())),
                    Amounts.bytes(bytes(move.move())),
                    Amounts.duration(move.took()) + (move.isResumed() ? ", resumed" : ""),
                    millis(pauses.get("p50")),
                    millis(pauses.get("p99")),
                    millis(pauses.get("max")));
        }
        return table.toString();
    }

    private static String millis(@Nullable Object value) {
        return value == null ? "-" : value + " ms";
    }
}
