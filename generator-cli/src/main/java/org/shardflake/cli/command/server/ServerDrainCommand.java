/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.server;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.move.CopyMixin;
import org.shardflake.cli.command.move.MoveMixin;
import org.shardflake.cli.command.move.ParallelMixin;
import org.shardflake.cli.command.move.WholeMoves;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ServerNames;
import org.shardflake.cli.command.rebalance.PlanFileMixin;
import org.shardflake.cli.command.rebalance.PlanView;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.rebalance.PlanRun;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanFile;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code shardflake server drain}: moves all shards off a server. */
@Command(
        name = "drain",
        description = {
            "Moves every shard of a server to the others, as rebalance plan --drain and rebalance apply do.",
            "Moves to several servers run at a time. No other shard moves. The server stays in the shard map; server remove takes it out.",
            "If interrupted, run the command again to plan what is left."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok, even if there was nothing to do",
            "1:a server or the catalog failed, or the file cannot be written",
            "2:the command line is wrong, there is no such server, or it was not confirmed",
            "3:some moves or cutovers are done, and others failed; run the command again for the rest",
            "4:there is no catalog, a server's label weight is not a number, a check failed, or a shard was placed elsewhere in the meantime",
            "5:copies differ; those of that move were not removed"
        },
        footer = {"", "Example: shardflake server drain db1 --dry-run"})
final class ServerDrainCommand implements Callable<Integer> {

    @Parameters(
            index = "0",
            paramLabel = "NAME",
            completionCandidates = ServerNames.class,
            description = "The server, such as db1.")
    private String name;

    @Mixin
    private PlanFileMixin options;

    @Option(names = "--dry-run", description = "Show the plan and move nothing, as --file does.")
    private boolean dryRun;

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
        RebalancePlan plan = plan();
        if (dryRun || options.hasFile()) {
            options.write(plan);
            output.print(RebalancePlanFile.properties(plan), () -> PlanView.text(plan) + options.written());
            return ExitCodes.OK;
        }
        if (!plan.moves().isEmpty()) {
            confirm.require(
                    "move %s to drain %s".formatted(Amounts.shards(plan.shardCount()), name),
                    "see which with --dry-run");
        }
        WholeMoves whole = new WholeMoves(moves, copying, parallel);
        int finished = whole.finish(move -> move.source().equals(name));
        int moved = whole.run(new PlanRun(finished == 0 ? plan : plan(), moves.catalog()));
        print(finished + moved, whole);
        return ExitCodes.OK;
    }

    private RebalancePlan plan() throws InterruptedException {
        return options.plan(moves.map(), moves, List.of(name));
    }

    private void print(int moved, WholeMoves whole) {
        ShardMap map = moves.map();
        int left = map.shards(map.server(name)).size();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", name);
        facts.put("moves", whole.facts());
        facts.put("moved", moved);
        facts.put("left", left);
        output.print(facts, () -> whole.isEmpty() ? text(moved, left) : whole.text() + "\n" + text(moved, left));
    }

    private String text(int moved, int left) {
        if (left > 0) {
            return "moved %s; server %s has %s left".formatted(Amounts.shards(moved), name, Amounts.shards(left));
        }
        return moved == 0
                ? "nothing to do: server %s has no shards".formatted(name)
                : "drained server %s: moved %s".formatted(name, Amounts.shards(moved));
    }
}
