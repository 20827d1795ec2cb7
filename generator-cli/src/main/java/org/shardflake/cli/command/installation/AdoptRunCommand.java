/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.shardflake.adopt.AdoptPreview;
import org.shardflake.adopt.AdoptReport;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake adopt run}: brings the rows of all tables of a plan, or of one table, into the shards. */
@Command(
        name = "run",
        description = {
            "Brings the rows of all tables that a plan sends into the shards there, or of one table, with their ids.",
            "The tables keep taking writes. A table without the key gets it from the rows that it refers to. Run the"
                    + " command again to copy what is left and bring over what has changed. With --finish, the tables take"
                    + " no more writes, the last changes are brought over, and all rows are compared.",
            "Reference tables and lookups of the plan are not filled: the command says how to do that."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done as requested",
            "1:a server or the catalog cannot be reached, or failed; the tables stay open to writes; run the command again to continue",
            "2:the command line or the plan is wrong, or it was not confirmed",
            "4:the rows of a table cannot live in the shards as they are, or a server is a standby; nothing was changed",
            "5:the shards' rows differ from those of the tables; these are open to writes again"
        },
        footer = {
            "",
            "Examples: shardflake adopt run --plan adoption.yaml --from postgresql://app@old/app",
            "          shardflake adopt run --table photo --key uid --from postgresql://app@old/app"
        })
final class AdoptRunCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private PlannedAdoptionMixin planned;

    @Option(
            names = "--finish",
            description = "Stop writes to all tables, bring over the last changes and compare all rows.")
    private boolean finish;

    @Option(
            names = "--reopen",
            description = "Open closed tables to writes again; after --finish only if the shards have the same rows.")
    private boolean reopen;

    @Option(names = "--cancel", description = "Remove the rows from the shards and the triggers from the tables.")
    private boolean cancel;

    @Mixin
    private DryRunMixin dryRun;

    @Option(
            names = "--rate",
            paramLabel = "ROWS",
            defaultValue = "0",
            description = "How many rows to copy a second, of all tables together (default: no limit).")
    private int rate;

    @Option(
            names = "--batch",
            paramLabel = "ROWS",
            defaultValue = "" + DatabaseSettings.DEFAULT_BATCH_ROWS,
            description = "How many rows of a table to bring over at a time (default: ${DEFAULT-VALUE}).")
    private int batch;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws Exception {
        return planned.advising(catalog, this::perform);
    }

    private int perform() {
        if (Stream.of(finish, reopen, cancel).filter(chosen -> chosen).count() > 1) {
            throw CliException.usage("--finish, --reopen and --cancel exclude each other");
        }
        Optional<AdoptionPlan> its = planned.read();
        AdoptProgress progress = new AdoptProgress(spec.commandLine().getErr());
        try (DatabaseAdopter adopter = planned.open(its, catalog, batch, rate, progress)) {
            if (dryRun.isOn()) {
                showPlan(adopter);
            } else {
                catalog.onInterruption(() -> cancel || finish
                        ? "%s is not finished".formatted(cancel ? "--cancel" : "--finish")
                        : "the rows brought so far stay in the shards; the same command with --cancel removes them");
                List<AdoptReport> reports = perform(adopter);
                output.print(
                        reports.stream().map(AdoptView::facts).toList(),
                        () -> AdoptView.text(reports)
                                + its.map(plan -> AdoptSteps.after(reports, plan, planned.from(catalog)))
                                        .orElse(""));
            }
        }
        return ExitCodes.OK;
    }

    private List<AdoptReport> perform(DatabaseAdopter adopter) {
        if (cancel) {
            adopter.checkCancel();
            confirm.require(
                    "remove all rows of %s from the shards".formatted(adopter.name()),
                    "the old database keeps all of them");
            return adopter.cancel();
        }
        if (finish) {
            confirm.require(
                    "end writes to %s for good".formatted(adopter.name()),
                    "--dry-run shows what would be done; without --finish, the tables stay open to writes");
            return adopter.finish();
        }
        return reopen ? adopter.reopen() : adopter.run();
    }

    private void showPlan(DatabaseAdopter adopter) {
        if (cancel) {
            adopter.checkCancel();
        }
        List<AdoptPreview> plans = adopter.plan();
        dryRun.say();
        output.print(
                plans.stream().map(AdoptView::facts).toList(),
                () -> cancel
                        ? "would remove all rows of %s from %s"
                                .formatted(
                                        adopter.name(),
                                        Amounts.shards(plans.get(0).shards()))
                        : String.join("\n", plans.stream().map(AdoptView::text).toList()));
    }
}
