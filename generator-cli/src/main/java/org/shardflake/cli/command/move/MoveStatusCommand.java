/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Keys;
import org.shardflake.cli.output.Redraw;
import org.shardflake.move.Move;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.Mover;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake move status}: shows the state of moves. */
@Command(
        name = "status",
        description = {
            "Shows the moves in progress: phase, bytes copied and time left, lag in bytes and milliseconds, in both directions.",
            "With a move's number, also shows each of its shards. Changes nothing, so it can run alongside a move."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog, or no such move"
        },
        footer = {"", "Example: shardflake move status 3 --watch"})
final class MoveStatusCommand implements Callable<Integer> {

    private static final long WATCH_MILLIS = 1000;

    @Spec
    private CommandSpec spec;

    @Parameters(index = "0", arity = "0..1", paramLabel = "MOVE", description = "Show only this move, with its shards.")
    private @Nullable Long id;

    @Option(
            names = "--watch",
            description =
                    "Refresh every second, in place on a terminal, until no move is left, q or Ctrl-C. Waits for the first move.")
    private boolean watch;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        moves.onlyReads();
        Mover mover = moves.mover(moves.progress());
        Redraw redraw = new Redraw(spec.commandLine().getOut());
        if (!watch) {
            print(read(mover), redraw);
            return ExitCodes.OK;
        }
        try (Keys keys = Keys.open()) {
            boolean hasBegun = false;
            boolean isTold = false;
            while (true) {
                List<MoveStatus> all = readOpen(mover);
                if (hasBegun || !all.isEmpty()) {
                    print(all, redraw);
                } else if (!isTold) {
                    isTold = true;
                    spec.commandLine().getErr().printf("%s; waiting for it%n", nothing());
                }
                if ((hasBegun && all.isEmpty()) || keys.quits(WATCH_MILLIS)) {
                    return ExitCodes.OK;
                }
                hasBegun |= !all.isEmpty();
            }
        }
    }

    private String nothing() {
        return id == null ? "no move is in progress" : "move %s is not in progress".formatted(id);
    }

    private List<MoveStatus> readOpen(Mover mover) {
        return id == null || mover.moves().stream().anyMatch(move -> move.id() == id) ? read(mover) : List.of();
    }

    private List<MoveStatus> read(Mover mover) {
        List<MoveStatus> all = new ArrayList<>();
        for (Move move : id == null ? mover.moves() : List.of(mover.move(id))) {
            all.add(mover.status(move));
        }
        return all;
    }

    private void print(List<MoveStatus> all, Redraw redraw) {
        output.printAgain(
                redraw,
                all.stream().map(MoveView::facts).toList(),
                () -> MoveView.table(all)
                        + (id == null || all.isEmpty()
                                ? ""
                                : "\n" + MoveView.shardTable(all.get(0).move())));
    }
}
