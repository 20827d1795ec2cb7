/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.adopt.AdoptSettings;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.ReturnReport;
import org.shardflake.adopt.SliceReport;
import org.shardflake.cli.command.move.CutoverView;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code shardflake adopt reverse}: brings shards back to the old database. */
@Command(
        name = "reverse",
        description = {
            "Brings shards that have left back to the old database, one by one, with all that was written to them since.",
            "For each shard: its server refuses writes, all of its rows are read, and one transaction of the old database"
                    + " writes those that differ, compares them, and takes the shard in. Then the old tables accept writes to"
                    + " these rows again, and the server refuses them until adopt cutover lets the shard leave again."
                    + " Reference tables and lookups are left as they are."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done as requested",
            "1:a server or the catalog cannot be reached, or failed, or a shard's writers did not end; none has come back; run the command again",
            "2:the command line or the plan is wrong, or it was not confirmed",
            "3:some shards have come back; run the command again for the rest",
            "4:the old tables cannot hold a row of a shard; it accepts writes as before, and so do those after it"
        },
        footer = {
            "",
            "Example: shardflake adopt reverse --plan adoption.yaml --from postgresql://app@old/app --shards 0-81"
        })
final class AdoptReverseCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private PlannedAdoptionMixin planned;

    @ArgGroup(multiplicity = "1")
    private SliceChoice choice;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        ShardSet shards = choice.of(catalog.catalog().load());
        AdoptProgress progress = new AdoptProgress(spec.commandLine().getErr());
        try (DatabaseAdopter adopter =
                planned.open(planned.read(), catalog, AdoptSettings.DEFAULT_BATCH_ROWS, 0, progress)) {
            catalog.onInterruption(
                    () ->
                            "a shard may refuse writes: run the same command again, or adopt cutover, which lets it accept writes");
            confirm.require(
                    "bring %s back to the old database: %s".formatted(Amounts.shards(shards.size()), shards),
                    Advice.of("%s lets them leave again", CliCommand.ADOPT_CUTOVER));
            ReturnReport report = reverse(adopter, shards, progress);
            output.print(facts(report), () -> text(report));
        }
        return ExitCodes.OK;
    }

    private static ReturnReport reverse(DatabaseAdopter adopter, ShardSet shards, AdoptProgress progress) {
        try {
            return adopter.reverse(shards);
        } catch (ShardflakeException e) {
            throw progress.left() > 0 && e.kind() == Kind.FAILURE ? CutoverView.partly(e) : e;
        }
    }

    private static Map<String, Object> facts(ReturnReport report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put(
                "back",
                ShardSet.of(report.now().stream().map(SliceReport::shard).toList())
                        .toString());
        facts.put("over", report.over().toString());
        if (!report.now().isEmpty()) {
            facts.put(
                    "pauseMillis",
                    CutoverView.pauses(
                            report.now().stream().map(SliceReport::pause).toList()));
        }
        return facts;
    }

    private static String text(ReturnReport report) {
        List<SliceReport> now = report.now();
        String back = now.isEmpty()
                ? "no shard had to come back"
                : "%s came back%s"
                        .formatted(
                                Amounts.shards(now.size()),
                                CutoverView.pausesText(
                                        now.stream().map(SliceReport::pause).toList()));
        return "%s%n%s"
                .formatted(
                        back,
                        report.over().isEmpty()
                                ? "all shards are in the old database"
                                : Amounts.shards(report.over().size()) + " have left the old database");
    }
}
