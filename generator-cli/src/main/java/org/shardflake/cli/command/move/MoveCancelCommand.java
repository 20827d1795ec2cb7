/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.util.Map;
import java.util.concurrent.Callable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake move cancel}. */
@Command(
        name = "cancel",
        description = {
            "Ends a move with no shard on the target: removes the target's copies and everything else of the move.",
            "With --keep-moved, shards on the target stay there; the source's copies of them are compared before they are removed."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done; nothing of the move is left on any server, except on a lost target",
            "1:a server or the catalog failed; run the command again to continue",
            "2:the command line is wrong, or it was not confirmed",
            "4:there is no such move, shards are on the wrong server for this, or a lost target answers",
            "5:copies to be removed have rows that the shards lack; nothing was removed"
        },
        footer = {"", "Example: shardflake move cancel 3"})
final class MoveCancelCommand implements Callable<Integer> {

    @Mixin
    private MoveIdMixin which;

    @Option(
            names = "--keep-moved",
            description = "Keep shards that are on the target there and remove the source's copies of them, for when"
                    + " the servers can no longer follow each other.")
    private boolean keepMoved;

    @Option(
            names = "--uncompared",
            description = "Remove the copies without comparing them: with --keep-moved if the source can no longer"
                    + " follow, otherwise if the source was restored or failed over since the move began. With"
                    + " --keep-moved, copies that were never found equal are still compared, and kept if they have"
                    + " rows that their shards lack.")
    private boolean uncompared;

    @Option(
            names = "--target-lost",
            description =
                    "The target is gone for good: end the move without it. Refused if it answers, or a shard is on it.")
    private boolean targetLost;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        Mover mover = moves.mover(moves.progress());
        if (targetLost && (keepMoved || uncompared)) {
            throw CliException.usage("--target-lost cannot be combined with --keep-moved or --uncompared");
        }
        Move move = which.find(mover);
        String what = targetLost
                ? "cancel move %s and forget %s, which is gone for good".formatted(move.id(), move.target())
                : keepMoved
                        ? "end move %s where it is and remove all copies where the shard map does not have them"
                                .formatted(move.id())
                        : "cancel move %s and remove the copies of %s on %s"
                                .formatted(
                                        move.id(), Amounts.shards(move.shards().size()), move.target());
        if (dryRun.isOn()) {
            if (targetLost) {
                mover.checkCancelWithoutTarget(move.id());
            } else {
                Mover.checkCancel(move, keepMoved);
            }
            dryRun.shows(output, what, Map.of("cancelled", move.id()));
            return ExitCodes.OK;
        }
        confirm.require(what, Advice.of("%s shows the move", CliCommand.MOVE_STATUS_OF.with(move.id())));
        moves.begun(move);
        if (targetLost) {
            mover.cancelWithoutTarget(move.id());
        } else {
            mover.cancel(move.id(), Mover.End.of(keepMoved, uncompared));
        }
        output.print(
                Map.of("cancelled", move.id()),
                () -> "cancelled move %s of %s from %s to %s"
                        .formatted(move.id(), Amounts.shards(move.shards().size()), move.source(), move.target()));
        return ExitCodes.OK;
    }
}
