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
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake move complete}. */
@Command(
        name = "complete",
        description = {
            "Ends a move whose shards are all on the target: removes the source's copies and everything else of the move.",
            "The source's copies are compared once more before they are removed, while the target takes writes."
                    + " There is no way back from here."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done; nothing of the move is left on any server",
            "1:a server or the catalog failed; run the command again to continue",
            "2:the command line is wrong, or it was not confirmed",
            "4:there is no such move, or shards are on the wrong server for this",
            "5:copies differ; nothing was removed"
        },
        footer = {"", "Example: shardflake move complete 3"})
final class MoveCompleteCommand implements Callable<Integer> {

    @Mixin
    private MoveIdMixin which;

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
        Move move = which.find(mover);
        String what = "complete move %s and remove the copies of %s on %s"
                .formatted(move.id(), Amounts.shards(move.shards().size()), move.source());
        if (dryRun.isOn()) {
            Mover.checkComplete(move);
            dryRun.shows(output, what, Map.of("completed", move.id()));
            return ExitCodes.OK;
        }
        confirm.require(what, Advice.of("%s shows the move", CliCommand.MOVE_STATUS_OF.with(move.id())));
        moves.begun(move);
        mover.complete(move.id());
        output.print(
                Map.of("completed", move.id()),
                () -> "completed move %s of %s from %s to %s"
                        .formatted(move.id(), Amounts.shards(move.shards().size()), move.source(), move.target()));
        return ExitCodes.OK;
    }
}
