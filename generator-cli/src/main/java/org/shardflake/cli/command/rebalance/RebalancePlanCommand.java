/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.rebalance;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ServerNames;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanFile;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake rebalance plan}: plans which shards should move to which server. */
@Command(
        name = "plan",
        description = {
            "Plans moves that bring the servers closer to each other; moves nothing.",
            "Each move goes from the most loaded server to the least loaded one and is an improvement on its own,"
                    + " so a plan can stop anywhere. A server's label weight is its capacity (default: 1).",
            "By rate or both, a move also has to be worth the bytes it copies.",
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok, even if there was nothing to do",
            "1:a server or the catalog cannot be reached, a rate cannot be known, or the file cannot be written",
            "2:the command line is wrong, or there is no such server or shard",
            "4:there is no catalog, a server is a standby, or a server's label weight is not a number"
        },
        footer = {"", "Example: shardflake rebalance plan --drain db1 --file plan.yaml"})
final class RebalancePlanCommand implements Callable<Integer> {

    @Option(
            names = "--drain",
            paramLabel = "NAME",
            completionCandidates = ServerNames.class,
            description = "Move every shard off this server, and move no others. May be repeated.")
    private List<String> drained = new ArrayList<>();

    @Mixin
    private PlanFileMixin options;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        RebalancePlan plan = options.plan(catalog.catalog().load(), catalog, drained);
        options.write(plan);
        output.print(RebalancePlanFile.properties(plan), () -> PlanView.text(plan) + options.written());
        return ExitCodes.OK;
    }
}
