/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.TableName;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.move.OpenAdoptions;
import org.shardflake.move.OpenAdoptions.OpenAdoption;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake adopt status}: lists adoptions that are neither finished nor cancelled. */
@Command(
        name = "status",
        description = {
            "Lists the adoptions that are neither finished nor cancelled, with the changes that wait in the journals of their old databases. No shard can be moved until they are.",
            "The command that began one continues it: adopt run with --plan, or with --table.",
            "The catalog knows the old databases, so no option is needed. With --from, only the adoptions of that database are shown, and it is asked by this URL."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed; with --from, also the old database",
            "2:the command line or the plan is wrong",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake adopt status"})
final class AdoptStatusCommand implements Runnable {

    @Option(
            names = "--plan",
            paramLabel = "FILE",
            description = "Only the tables of this plan, made by adopt plan (default: all).")
    private @Nullable Path plan;

    @Option(
            names = "--from",
            paramLabel = "URL",
            description = "Only the adoptions of this database (default: all, with passwords from the environment).")
    private @Nullable String from;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        catalog.onlyReads();
        catalog.catalog().load(); // Fails if the database has no catalog.
        List<OpenAdoption> all = new OpenAdoptions(catalog.url()).list();
        List<OpenAdoption> planned = plan == null ? all : ofPlan(all, plan);
        List<AdoptionStatus> open = from == null
                ? AdoptionStatus.of(planned, catalog::parse)
                : AdoptionStatus.in(catalog.parse(from), planned);
        output.print(
                open.stream().map(AdoptView::facts).toList(),
                () -> open.isEmpty() && !all.isEmpty() ? noneOf(all) : AdoptView.table(open));
    }

    private static List<OpenAdoption> ofPlan(List<OpenAdoption> all, Path plan) {
        Set<TableName> tables = PlannedAdoptionMixin.read(plan).tables().stream()
                .map(AdoptionPlan.Table::name)
                .collect(Collectors.toSet());
        return all.stream()
                .filter(adoption -> tables.contains(TableName.parse(adoption.table())))
                .toList();
    }

    private static String noneOf(List<OpenAdoption> all) {
        return "no such adoption is in progress; without --plan and --from, %s: %s"
                .formatted(
                        all.size() == 1 ? "one is" : all.size() + " are",
                        all.stream().map(OpenAdoption::toString).collect(Collectors.joining("; ")));
    }
}
