/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.rebalance;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.shardflake.cli.command.move.CopyMixin;
import org.shardflake.cli.command.move.MoveMixin;
import org.shardflake.cli.command.move.ParallelMixin;
import org.shardflake.cli.command.move.WholeMoves;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.cli.output.Amounts;
import org.shardflake.jdbc.Plural;
import org.shardflake.rebalance.PlanRun;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanFile;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code shardflake rebalance apply}: carries out a plan. */
@Command(
        name = "apply",
        description = {
            "Moves the shards of a plan that are not on their targets yet, several moves at a time.",
            "If interrupted, run the command again to continue."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the shards of the plan are on their targets",
            "1:a server or the catalog failed, or the file cannot be read; run the command again to continue",
            "2:the command line is wrong, the file is not a plan, or it was not confirmed",
            "3:some moves or cutovers are done, and others failed; run the command again for the rest",
            "4:there is no catalog, its map lacks a server of the plan, a shard is on neither its source nor its target, or a check failed",
            "5:copies differ; those of that move were not removed"
        },
        footer = {"", "Example: shardflake rebalance apply plan.yaml"})
final class RebalanceApplyCommand implements Callable<Integer> {

    @Parameters(index = "0", paramLabel = "FILE", description = "A plan written by rebalance plan --file.")
    private Path file;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CopyMixin copying;

    @Mixin
    private ParallelMixin parallel;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        RebalancePlan plan = read();
        List<RebalancePlan.Move> left = new PlanRun(plan, moves.catalog()).pending();
        int shards = left.stream().mapToInt(move -> move.shards().size()).sum();
        String what = "make %s of %s".formatted(Plural.of(left.size(), "move"), Amounts.shards(shards));
        if (dryRun.isOn()) {
            dryRun.shows(output, what, Map.of("moves", left.size(), "shards", shards));
            return ExitCodes.OK;
        }
        if (!left.isEmpty()) {
            confirm.requireOfPerson(
                    what + ", and remove the old copies once they are compared", "see which with --dry-run");
        }
        WholeMoves whole = new WholeMoves(moves, copying, parallel);
        int moved = whole.run(new PlanRun(plan, moves.catalog()));
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("moves", whole.facts());
        facts.put("moved", moved);
        facts.put("alreadyThere", plan.shardCount() - moved);
        output.print(
                facts,
                () -> whole.isEmpty()
                        ? text(plan.shardCount(), moved)
                        : whole.text() + "\n" + text(plan.shardCount(), moved));
        return ExitCodes.OK;
    }

    private static String text(int shards, int moved) {
        if (moved == 0) {
            return "nothing to do: every shard of the plan is on its target";
        }
        String before = moved == shards ? "" : "; %s were there before".formatted(shards - moved);
        return "moved %s%s".formatted(Amounts.shards(moved), before);
    }

    private RebalancePlan read() {
        try {
            return RebalancePlanFile.read(file);
        } catch (IOException e) {
            throw FileFailure.explain("read", file.toString(), e);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }
}
