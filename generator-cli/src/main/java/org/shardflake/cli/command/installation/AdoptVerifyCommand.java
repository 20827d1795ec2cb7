/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.adopt.ReferenceComparison;
import org.shardflake.adopt.TableComparison;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Differences;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.compare.TableDifference;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code shardflake adopt verify}: compares the tables of a plan with the shards. */
@Command(
        name = "verify",
        description = {
            "Compares all rows of a plan's tables, or of one table, with those in the shards, table by table and shard by shard, while the tables take writes. Those of reference tables are compared with their home, until the adoption is complete.",
            "Changes are brought over, too, as adopt run does: a row that differs counts only if it still differs when its"
                    + " changes have been carried out. After adopt run --finish, rows differ that were written to the shards since. Corrects nothing."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:all rows are equal",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line or the plan is wrong",
            "3:no row differs, but some changed too often to compare",
            "4:rows of a table are still to be copied, or all shards have left, or another command is adopting it just now",
            "5:rows differ, or have no shard"
        },
        footer = {"", "Example: shardflake adopt verify --plan adoption.yaml --from postgresql://app@old/app"})
final class AdoptVerifyCommand implements Callable<Integer> {

    /** The number of shards described below the table. */
    private static final int DESCRIBED = 10;

    @Spec
    private CommandSpec spec;

    @Mixin
    private PlannedAdoptionMixin planned;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws Exception {
        return planned.advising(catalog, this::perform);
    }

    private int perform() {
        AdoptProgress progress = new AdoptProgress(spec.commandLine().getErr());
        Optional<AdoptionPlan> plan = planned.read();
        List<ReferenceComparison> references;
        List<TableComparison> tables;
        try (DatabaseAdopter adopter = planned.open(plan, catalog, DatabaseSettings.DEFAULT_BATCH_ROWS, 0, progress)) {
            // First, since it is quick: if it fails, nothing that took hours is lost.
            references = adopter.verifyReferences();
            tables = adopter.verify();
        }
        output.print(
                Stream.concat(
                                tables.stream().map(AdoptVerifyCommand::facts),
                                references.stream().map(AdoptVerifyCommand::facts))
                        .toList(),
                () -> text(tables, references));
        if (references.stream().anyMatch(ReferenceComparison::isBehind)
                || tables.stream().anyMatch(TableComparison::differs)) {
            return ExitCodes.VERIFICATION;
        }
        boolean areDecided = tables.stream().allMatch(table -> table.undecided().isEmpty());
        return areDecided ? ExitCodes.OK : ExitCodes.PARTLY_DONE;
    }

    private static Map<String, Object> facts(ReferenceComparison table) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("table", table.table());
        facts.put("into", table.into());
        facts.put("compared", table.rows());
        facts.put("equal", table.difference().isEmpty());
        facts.put("behind", table.isBehind());
        table.difference().ifPresent(difference -> {
            facts.put("missing", List.copyOf(difference.missing()));
            facts.put("extra", List.copyOf(difference.extra()));
            facts.put("different", List.copyOf(difference.different()));
            facts.put("atLeast", difference.atLeast());
        });
        return facts;
    }

    private static Map<String, Object> facts(TableComparison table) {
        Map<Integer, List<TableDifference>> differences = new TreeMap<>();
        table.differences().forEach((shard, its) -> differences.put(shard, List.of(its)));
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("table", table.table());
        facts.put("into", table.into());
        facts.put("compared", table.rows());
        facts.put("shards", table.shards());
        facts.put("equal", !table.differs() && table.undecided().isEmpty());
        facts.put("differences", Differences.facts(differences));
        facts.put("rows", Differences.rows(differences));
        facts.put("undecided", table.undecided().toString());
        facts.put("withoutShard", table.withoutShard());
        return facts;
    }

    private static String text(List<TableComparison> tables, List<ReferenceComparison> references) {
        TableWriter text = new TableWriter("TABLE", "INTO", "ROWS", "SHARDS", "DIFFERENT", "UNDECIDED");
        List<String> lines = new ArrayList<>();
        for (TableComparison table : tables) {
            text.row(
                    table.table(),
                    table.into(),
                    String.format(Locale.ROOT, "%,d", table.rows()),
                    table.shards(),
                    table.differences().size(),
                    table.undecided().size());
            table.differences().values().forEach(difference -> lines.add(difference.toString()));
            if (!table.withoutShard().isEmpty()) {
                List<String> some = table.withoutShard()
                        .subList(0, Math.min(3, table.withoutShard().size()));
                lines.add("%s: rows without a shard, such as (%s)".formatted(table.table(), String.join("), (", some)));
            }
        }
        for (ReferenceComparison table : references) {
            text.row(
                    table.table(),
                    table.into(),
                    String.format(Locale.ROOT, "%,d", table.rows()),
                    "-",
                    table.isBehind() ? "yes" : 0,
                    0);
            table.difference()
                    .ifPresent(difference -> lines.add((table.isBehind()
                                    ? "%s: nothing follows changes of %s: copy the rows again"
                                    : "%s: only the reference table has these; fine if they are newer than %s")
                            .formatted(difference, table.table())));
        }
        if (lines.isEmpty()) {
            boolean areDecided =
                    tables.stream().allMatch(table -> table.undecided().isEmpty());
            return text + "\nno row differs" + (areDecided ? "" : ", but some changed too often to compare");
        }
        String more = lines.size() > DESCRIBED ? "\n..." : "";
        return text + "\n" + String.join("\n", lines.subList(0, Math.min(DESCRIBED, lines.size()))) + more
                + "\nthe columns DIFFERENT and UNDECIDED count shards; -o json names up to a thousand rows of a table";
    }
}
