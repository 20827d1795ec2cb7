/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.cli.ExitCodes;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.move.CopiesDifferException;
import org.shardflake.move.Move;
import org.shardflake.move.MoveException;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveRefusedException;
import org.shardflake.move.MoveShard;
import org.shardflake.move.Mover;
import org.shardflake.move.PreflightReport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake move run}: a move from beginning to end. */
@Command(
        name = "run",
        description = {
            "Moves shards from beginning to end: copies them, follows, cuts them over one by one, compares both copies as they"
                    + " were then, and removes the source's.",
            "Interrupted, the same command goes on."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the shards are on the target, and nothing of the move is left; with --dry-run, every check holds",
            "1:a server or the catalog failed; the same command goes on",
            "2:the command line is wrong",
            "3:some shards are cut over, and patience ran out for the next one",
            "4:a check failed, or a shard is in another move; nothing was changed",
            "5:copies differed at the cutover of a shard; no more were cut over, and nothing was removed"
        },
        footer = {"", "Example: shardflake move run --shards 0-99,1341 --to db3"})
final class MoveRunCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private MoveBegin begin;

    @Option(
            names = "--pause",
            paramLabel = "TIME",
            defaultValue = "90ms",
            converter = DurationConverter.class,
            description = "An attempt that would let writers wait longer gives itself up (default: ${DEFAULT-VALUE}).")
    private Duration pause;

    @Option(
            names = "--keep",
            description = "Do not complete it: the source goes on following, so that reverse can go back.")
    private boolean keep;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    /** What was done with the shards of one source. */
    private record Done(Move move, List<Duration> pauses, Duration took) {}

    @Override
    public Integer call() throws SQLException {
        Map<String, ShardSet> sources = begin.sources(moves.map());
        if (begin.isDryRun()) {
            List<PreflightReport> plan = begin.plan(moves, sources);
            output.print(
                    spec.commandLine().getOut(),
                    plan.stream().map(MoveBegin::facts).toList(),
                    () -> plan.stream().map(MoveBegin::text).collect(Collectors.joining("\n\n")));
            return plan.stream().allMatch(PreflightReport::passed) ? ExitCodes.OK : ExitCodes.PRECONDITION;
        }
        List<Done> done = new ArrayList<>();
        for (Move interrupted : interrupted()) {
            done.add(run(interrupted.source(), interrupted.shardSet(), interrupted));
        }
        for (Map.Entry<String, ShardSet> source : begin.sources(moves.map()).entrySet()) {
            done.add(run(source.getKey(), source.getValue(), null));
        }
        output.print(spec.commandLine().getOut(), done.stream().map(this::facts).toList(), () -> text(done));
        return ExitCodes.OK;
    }

    /** Moves to this target that some of the shards are in, begun before. */
    private List<Move> interrupted() throws SQLException {
        Mover mover = moves.mover(
                begin.settings(moves, pause),
                new MoveProgress(spec.commandLine().getErr()));
        ShardSet wanted = begin.wanted();
        List<Move> begun = new ArrayList<>();
        for (Move move : mover.moves()) {
            if (move.target().equals(begin.target()) && move.shardSet().stream().allMatch(wanted::contains)) {
                begun.add(move);
            }
        }
        return begun;
    }

    private Done run(String source, ShardSet its, @Nullable Move interrupted) throws SQLException {
        long start = System.nanoTime();
        MoveProgress progress = new MoveProgress(spec.commandLine().getErr());
        Mover mover = moves.mover(begin.settings(moves, pause), progress);
        Move move = interrupted == null ? begin.begin(moves, mover, source, its, progress) : interrupted;
        try {
            if (move.phase() != MovePhase.COMPLETING) {
                mover.follow(move.id());
                move = mover.cutOver(move.id(), move.shardSet());
            }
            if (!keep) {
                mover.complete(move.id());
            }
        } catch (CopiesDifferException | MoveRefusedException e) {
            throw e;
        } catch (MoveException e) {
            throw CutoverView.partly(e, progress);
        }
        return new Done(move, progress.pauses(), Duration.ofNanos(System.nanoTime() - start));
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

    private String text(List<Done> all) {
        if (all.isEmpty()) {
            return "all of these shards are on %s; nothing to do".formatted(begin.target());
        }
        TableWriter table =
                new TableWriter("MOVE", "FROM", "TO", "SHARDS", "ROWS", "BYTES", "TIME", "PAUSE P50", "P99", "MAX");
        for (Done done : all) {
            Map<String, Object> pauses = done.pauses().isEmpty() ? Map.of() : CutoverView.pauses(done.pauses());
            table.row(
                    done.move().id(),
                    done.move().source(),
                    done.move().target(),
                    ShardMapView.shorten(done.move().shardSet()),
                    "%,d".formatted(rows(done.move())),
                    MoveView.bytes(bytes(done.move())),
                    MoveView.duration(done.took()),
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
