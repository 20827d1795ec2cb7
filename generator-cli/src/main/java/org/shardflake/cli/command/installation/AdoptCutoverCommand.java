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
import org.shardflake.adopt.CutoverReport;
import org.shardflake.adopt.DatabaseAdopter;
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

/** {@code shardflake adopt cutover}: lets shards leave the old database one by one. */
@Command(
        name = "cutover",
        description = {
            "Lets shards leave the old database one by one, while it is in use.",
            "First it does what adopt run does. Then, for each shard: writers of its rows wait, the last changes are"
                    + " brought over and compared, and from then on the old tables refuse writes to these rows. Rows of"
                    + " other shards are written as before. Transactions of the application that begin with SELECT"
                    + " shardflake_adopt.enter(SHARD) learn there which side to work on. When all shards have left, the"
                    + " adoption is finished. With --percent 0, only the triggers are created.",
            "Until then, adopt reverse brings a shard back with all that was written to it."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done as requested",
            "1:a server or the catalog cannot be reached, or failed, or a shard's writers did not end; none has left; run the command again",
            "2:the command line or the plan is wrong, or it was not confirmed",
            "3:some shards have left; run the command again for the rest",
            "4:the rows of a table cannot live in the shards as they are, or all shards have left; with rows that belong to no shard, the adoption is not finished",
            "5:a shard's rows differ from those of the tables; it has not left, and nor have those after it"
        },
        footer = {
            "",
            "Example: shardflake adopt cutover --plan adoption.yaml --from postgresql://app@old/app --percent 1"
        })
final class AdoptCutoverCommand implements Callable<Integer> {

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
                    () -> "shards that have left stay in the new servers; run the same command for the rest");
            confirm.require(
                    shards.isEmpty()
                            ? "refuse changes of keys in the old tables"
                            : "let %s leave the old database: %s".formatted(Amounts.shards(shards.size()), shards),
                    Advice.of("%s brings their rows over without that", CliCommand.ADOPT_RUN));
            CutoverReport report = cutOver(adopter, shards, progress);
            output.print(facts(report), () -> text(report));
        }
        return ExitCodes.OK;
    }

    private static CutoverReport cutOver(DatabaseAdopter adopter, ShardSet shards, AdoptProgress progress) {
        try {
            return adopter.cutOver(shards);
        } catch (ShardflakeException e) {
            throw progress.left() > 0 && e.kind() == Kind.FAILURE ? CutoverView.partly(e) : e;
        }
    }

    private static Map<String, Object> facts(CutoverReport report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("left", left(report).toString());
        facts.put("remaining", report.remaining().toString());
        if (!report.now().isEmpty()) {
            facts.put(
                    "pauseMillis",
                    CutoverView.pauses(
                            report.now().stream().map(SliceReport::pause).toList()));
        }
        return facts;
    }

    private static ShardSet left(CutoverReport report) {
        return ShardSet.of(report.now().stream().map(SliceReport::shard).toList());
    }

    private static String text(CutoverReport report) {
        List<SliceReport> now = report.now();
        String left = now.isEmpty()
                ? "no shard had to leave"
                : "%s left the old database%s"
                        .formatted(
                                Amounts.shards(now.size()),
                                CutoverView.pausesText(
                                        now.stream().map(SliceReport::pause).toList()));
        return "%s%n%s"
                .formatted(
                        left,
                        report.remaining().isEmpty()
                                ? "all shards have left: the old tables refuse all writes"
                                : Amounts.shards(report.remaining().size()) + " are still there");
    }
}
