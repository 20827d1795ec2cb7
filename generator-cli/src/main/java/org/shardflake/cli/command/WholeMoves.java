/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.move.CopiesDifferException;
import org.shardflake.move.Move;
import org.shardflake.move.MoveException;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveRefusedException;
import org.shardflake.move.MoveShard;
import org.shardflake.move.Mover;
import org.shardflake.rebalance.MoveRunner;
import picocli.CommandLine.Model.CommandSpec;

/** Makes moves from beginning to end, one after the other, and records what each of them took. */
final class WholeMoves implements MoveRunner {

    private final CommandSpec command;
    private final MoveMixin moves;
    private final CopyMixin copying;
    private final Duration pause;
    private final boolean keep;
    private final List<Done> done = new ArrayList<>();

    /** The result for the shards of one source. */
    private record Done(Move move, List<Duration> pauses, Duration took) {}

    /**
     * @param pause the longest write pause of a cutover attempt; an attempt that would take longer gives up
     * @param keep whether to leave moves uncompleted, so that they can be reversed
     */
    WholeMoves(CommandSpec command, MoveMixin moves, CopyMixin copying, Duration pause, boolean keep) {
        this.command = command;
        this.moves = moves;
        this.copying = copying;
        this.pause = pause;
        this.keep = keep;
    }

    /** Finishes interrupted moves, and returns how many shards they have. */
    int finish(Predicate<Move> which) {
        int shards = 0;
        for (Move move : unfinished()) {
            if (which.test(move) && move.phase() != MovePhase.CANCELLING) {
                finish(move);
                shards += move.shards().size();
            }
        }
        return shards;
    }

    @Override
    public List<Move> unfinished() {
        return mover(progress()).moves();
    }

    @Override
    public void finish(Move move) {
        MoveProgress progress = progress();
        carryOut(move, mover(progress), progress, System.nanoTime());
    }

    @Override
    public void move(String source, String target, ShardSet shards) {
        long start = System.nanoTime();
        MoveProgress progress = progress();
        Mover mover = mover(progress);
        carryOut(copying.begin(mover, source, target, shards, progress), mover, progress, start);
    }

    private void carryOut(Move begun, Mover mover, MoveProgress progress, long start) {
        Move move;
        try {
            move = mover.carryOut(begun, keep);
        } catch (CopiesDifferException | MoveRefusedException e) {
            throw e;
        } catch (MoveException e) {
            throw CutoverView.partly(e, progress);
        }
        done.add(new Done(move, progress.pauses(), Duration.ofNanos(System.nanoTime() - start)));
    }

    private MoveProgress progress() {
        return new MoveProgress(command.commandLine().getErr());
    }

    private Mover mover(MoveProgress progress) {
        return moves.mover(copying.settings(moves, pause), progress);
    }

    boolean isEmpty() {
        return done.isEmpty();
    }

    List<Map<String, Object>> facts() {
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

    String text() {
        TableWriter table =
                new TableWriter("MOVE", "FROM", "TO", "SHARDS", "ROWS", "SENT", "TIME", "PAUSE P50", "P99", "MAX");
        for (Done move : done) {
            Map<String, Object> pauses = move.pauses().isEmpty() ? Map.of() : CutoverView.pauses(move.pauses());
            table.row(
                    move.move().id(),
                    move.move().source(),
                    move.move().target(),
                    ShardMapView.shorten(move.move().shardSet()),
                    "%,d".formatted(rows(move.move())),
                    MoveView.bytes(bytes(move.move())),
                    MoveView.duration(move.took()),
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
