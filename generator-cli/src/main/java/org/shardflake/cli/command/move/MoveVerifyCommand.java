/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.Differences;
import org.shardflake.compare.TableDifference;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake move verify}. */
@Command(
        name = "verify",
        description = {"Compares shards with the copies that follow them, row by row, while they are written to."},
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:all copies are equal",
            "1:a server or the catalog failed; run the command again to continue",
            "2:the command line is wrong",
            "3:no row differs, but some changed too often to compare",
            "4:there is no such move, or the move is not following yet",
            "5:copies differ"
        },
        footer = {"", "Example: shardflake move verify 3 --shards 0-9"})
final class MoveVerifyCommand implements Callable<Integer> {

    @Mixin
    private MoveShardsMixin which;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        MoveProgress progress = moves.progress();
        Mover mover = moves.mover(progress);
        Move move = which.find(mover);
        ShardSet wanted = which.of(move, moves.map());
        Map<Integer, List<TableDifference>> differences = mover.verify(move.id(), wanted);
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("move", move.id());
        facts.put("shards", wanted.toString());
        facts.put("equal", differences.isEmpty());
        facts.put("differences", Differences.facts(differences));
        facts.put("rows", Differences.rows(differences));
        facts.put("undecided", ShardSet.of(progress.undecided()).toString());
        output.print(facts, () -> text(wanted, differences.size(), progress));
        if (!differences.isEmpty()) {
            return ExitCodes.VERIFICATION;
        }
        return progress.undecided().isEmpty() ? ExitCodes.OK : ExitCodes.PARTLY_DONE;
    }

    private static String text(ShardSet wanted, int different, MoveProgress progress) {
        if (different > 0) {
            return "%s of %s differ; -o json names up to a thousand rows"
                    .formatted(Amounts.shards(different), wanted.size());
        }
        int undecided = progress.undecided().size();
        return "compared %s: no row differs%s"
                .formatted(
                        Amounts.shards(wanted.size()),
                        undecided == 0
                                ? ""
                                : ", and some of %s could not be compared".formatted(Amounts.shards(undecided)));
    }
}
