/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.move.CopiesDifferException;
import org.shardflake.move.Move;
import org.shardflake.move.MoveException;
import org.shardflake.move.MoveRefusedException;
import org.shardflake.move.Mover;
import org.shardflake.move.ShardPhase;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake move reverse}. */
@Command(
        name = "reverse",
        description = {"Makes the source take the writes of shards again, with all that was written on the target."},
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done, and the copies are the same",
            "1:a server or the catalog failed; the same command goes on",
            "2:the command line is wrong",
            "3:some shards are done, and patience ran out for the next one",
            "4:there is no such move, or it is not following yet",
            "5:copies differed at the cutover of a shard; no more were cut over"
        },
        footer = {"", "Example: shardflake move reverse 3 --shards 0-9"})
final class MoveReverseCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "MOVE",
            description = "The move's number (default: the only one).")
    private @Nullable Long id;

    @Option(
            names = "--shards",
            paramLabel = "SHARDS",
            description = "Only these, such as 0-99,1341 (default: all of the move).")
    private @Nullable String shards;

    @Option(
            names = "--pause",
            paramLabel = "TIME",
            defaultValue = "90ms",
            converter = DurationConverter.class,
            description = "An attempt that would let writers wait longer gives itself up (default: ${DEFAULT-VALUE}).")
    private Duration pause;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        MoveProgress progress = new MoveProgress(spec.commandLine().getErr());
        Mover mover = moves.mover(moves.settings(pause, true), progress);
        Move move = MoveMixin.find(mover, id);
        ShardSet wanted = MoveMixin.shards(move, shards);
        if (dryRun.isOn()) {
            CutoverView.show(dryRun, output, "bring back", move, move.shardSet(ShardPhase.SWITCHED), wanted);
            return ExitCodes.OK;
        }
        try {
            mover.reverse(move.id(), wanted);
        } catch (CopiesDifferException | MoveRefusedException e) {
            throw e;
        } catch (MoveException e) {
            throw CutoverView.partly(e, progress);
        }
        output.print(
                spec.commandLine().getOut(),
                CutoverView.facts(move, wanted, progress),
                () -> CutoverView.text("brought back", wanted, progress));
        return ExitCodes.OK;
    }
}
