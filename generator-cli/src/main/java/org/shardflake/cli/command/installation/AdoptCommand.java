/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.adopt.AdoptPreview;
import org.shardflake.adopt.AdoptReport;
import org.shardflake.adopt.AdoptSettings;
import org.shardflake.adopt.Adopter;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.Subcommands;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake adopt}: brings the rows of an unsharded table into the shards. */
@Command(
        name = "adopt",
        description = {
            "Brings the rows of a table of an ordinary database into the shards, with their ids.",
            "The table keeps taking writes: a trigger records changes, which are brought over too. Run the"
                    + " command again to copy what is left and bring over what has changed. With --finish, the table takes"
                    + " no more writes, the last changes are brought over, and all rows are compared."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done as requested",
            "1:a server or the catalog cannot be reached, or failed; the table takes writes; run the command again to continue",
            "2:the command line is wrong, or it was not confirmed",
            "4:the rows of the table cannot live in the shards as they are, or a server is a standby; nothing was changed",
            "5:the shards' rows differ from the table's; the table takes writes again"
        },
        footer = {"", "Example: shardflake adopt photo --key uid --from postgresql://app@old/app --finish"})
public final class AdoptCommand implements Callable<Integer>, Subcommands {

    @Spec
    private CommandSpec spec;

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "TABLE",
            description = "The table, such as photo or app.photo.")
    private @Nullable String table;

    @Option(
            names = "--from",
            paramLabel = "URL",
            description =
                    "The database of the table. The login must own the table and be allowed to create a schema and triggers.")
    private @Nullable String from;

    @Option(
            names = "--key",
            paramLabel = "COLUMN",
            description =
                    "The column with the sharding key: integer, text or uuid (default: the one whose comment in the shards begins with 'shard key').")
    private @Nullable String key;

    @Option(
            names = "--into",
            paramLabel = "TABLE",
            description = "The table in the shards (default: the one of the same name).")
    private @Nullable String into;

    @Option(
            names = "--finish",
            description = "Stop writes to the table, bring over the last changes and compare all rows.")
    private boolean finish;

    @Option(
            names = "--reopen",
            description = "Open a closed table to writes again; after --finish only if the shards have the same rows.")
    private boolean reopen;

    @Option(names = "--cancel", description = "Remove the rows from the shards and the triggers from the table.")
    private boolean cancel;

    @Mixin
    private DryRunMixin dryRun;

    @Option(
            names = "--batch",
            paramLabel = "ROWS",
            defaultValue = "" + AdoptSettings.DEFAULT_BATCH_ROWS,
            description = "How many rows to bring over at a time (default: ${DEFAULT-VALUE}).")
    private int batch;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        if (Stream.of(finish, reopen, cancel).filter(chosen -> chosen).count() > 1) {
            throw CliException.usage("--finish, --reopen and --cancel exclude each other");
        }
        if (table == null || from == null) {
            throw new CliException(
                    Kind.USAGE,
                    "missing: %s"
                            .formatted(
                                    table == null
                                            ? "TABLE, or one of the commands %s".formatted(String.join(", ", names()))
                                            : "--from URL"),
                    "see shardflake adopt --help");
        }
        return adopt(table, catalog.parse(from));
    }

    private Integer adopt(String old, ServerUrl database) {
        ShardMap map = catalog.catalog().load();
        AdoptProgress progress = new AdoptProgress(spec.commandLine().getErr());
        try (Adopter adopter = Adopter.open(settings(old), database, catalog.url(), map, catalog::urlOf, progress)) {
            if (dryRun.isOn()) {
                showPlan(adopter);
            } else {
                catalog.onInterruption(() -> cancel || finish
                        ? "%s is not finished".formatted(cancel ? "--cancel" : "--finish")
                        : "the rows brought so far stay in the shards; the same command with --cancel removes them");
                AdoptReport report = perform(adopter);
                output.print(AdoptView.facts(report), () -> AdoptView.text(report));
            }
        }
        return ExitCodes.OK;
    }

    @Override
    public List<String> names() {
        return List.of("assess", "plan", "run", "rehearse", "cutover", "reverse", "status", "verify");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "assess" -> new AdoptAssessCommand();
            case "plan" -> new AdoptPlanCommand();
            case "run" -> new AdoptRunCommand();
            case "rehearse" -> new AdoptRehearseCommand();
            case "cutover" -> new AdoptCutoverCommand();
            case "reverse" -> new AdoptReverseCommand();
            case "status" -> new AdoptStatusCommand();
            case "verify" -> new AdoptVerifyCommand();
            default -> throw new IllegalArgumentException("no command adopt " + name);
        };
    }

    private AdoptSettings settings(String old) {
        try {
            return new AdoptSettings(old, into, key, batch);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    private AdoptReport perform(Adopter adopter) {
        if (cancel) {
            adopter.checkCancel();
            confirm.require(
                    "remove all rows of %s from the shards".formatted(table), "the table itself keeps all of them");
            return adopter.cancel();
        }
        if (finish) {
            confirm.require(
                    "end writes to %s for good".formatted(table),
                    "--dry-run shows what would be done; without --finish, the table stays open to writes");
            return adopter.finish();
        }
        return reopen ? adopter.reopen() : adopter.run();
    }

    private void showPlan(Adopter adopter) {
        if (cancel) {
            adopter.checkCancel();
        }
        AdoptPreview plan = adopter.plan();
        dryRun.say();
        output.print(
                AdoptView.facts(plan),
                () -> cancel
                        ? "would remove all rows of %s from %s".formatted(plan.into(), Amounts.shards(plan.shards()))
                        : AdoptView.text(plan));
    }
}
