/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.install.Upgrade;
import org.shardflake.install.Upgrade.Step;
import org.shardflake.jdbc.Plural;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code shardflake upgrade}. */
@Command(
        name = "upgrade",
        description = {
            "Upgrades an installation of an older shardflake: the function library on every server, then"
                    + " the catalog. Applications keep running. Tables of shards are not changed.",
            "If it is interrupted, or a server fails, run it again and it does the rest."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok, or everything was up to date",
            "1:the catalog or a server cannot be reached, or failed",
            "2:the command line is wrong",
            "4:nothing was changed: there is no catalog, a newer shardflake made the installation, another command works on"
                    + " it, or a server is a standby"
        },
        footer = {"", "Example: shardflake upgrade --dry-run"})
public final class UpgradeCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        PrintWriter err = spec.commandLine().getErr();
        try (Upgrade upgrade = catalog.installation().upgrade()) {
            upgrade.moves().forEach(move -> err.printf("warning: move %s is in progress%n", move.id()));
            if (dryRun.isOn()) {
                dryRun.say();
            } else {
                catalog.onInterruption(() -> "each server and the catalog have the old version or the new one");
                upgrade.run(step -> err.printf("%s is at version %s%n", step.server(), step.to()));
            }
            output.print(upgrade.steps().stream().map(UpgradeCommand::facts).toList(), () -> text(upgrade.steps()));
        }
    }

    private static Map<String, Object> facts(Step step) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", step.server());
        facts.put("from", step.from());
        facts.put("to", step.to());
        facts.put("changes", step.changes());
        return facts;
    }

    private String text(List<Step> steps) {
        if (steps.stream().noneMatch(Step::isNeeded)) {
            return "%s and the catalog are up to date".formatted(Plural.of(steps.size() - 1, "server"));
        }
        TableWriter table = new TableWriter("SERVER", "FROM", "TO", "CHANGES");
        StringBuilder changes = new StringBuilder();
        for (Step step : steps) {
            table.row(step.server(), step.from(), step.to(), step.changes().size());
            if (dryRun.isOn()) {
                step.changes().forEach(change -> changes.append("%n%s gets %s".formatted(step.server(), change)));
            }
        }
        return table.toString() + changes;
    }
}
