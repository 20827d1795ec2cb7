/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.shardflake.CliCommand;
import org.shardflake.adopt.AdoptReport;
import org.shardflake.adopt.AdoptState;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.AdoptionPlan.Lookup;
import org.shardflake.adoption.AdoptionPlan.Table;
import org.shardflake.adoption.PlanFiles;
import org.shardflake.adoption.ReferredFirst;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.SqlText;

/** The next steps after {@code adopt plan} and {@code adopt run}, as commands to copy. */
final class AdoptSteps {

    private AdoptSteps() {}

    /** The next steps after a plan was written to a file. */
    static List<String> after(Path file, PlanFiles.Report report) {
        AdoptionPlan plan = report.plan();
        List<String> steps = new ArrayList<>();
        steps.add("next, review these files, and run:");
        String reference = plan.changelogs().reference();
        if (reference != null) {
            steps.add("  " + CliCommand.REFERENCE_DEPLOY_HOME.withOption("changelog", file.resolveSibling(reference)));
        }
        steps.add("  "
                + CliCommand.SCHEMA_DEPLOY.with(
                        file.resolveSibling(plan.changelogs().shards())));
        report.history().ifPresent(history -> steps.add("  " + CliCommand.SCHEMA_DEPLOY_HISTORY.with(history)));
        steps.add("  " + CliCommand.ADOPT_RUN.with(file));
        return steps;
    }

    /** The next steps after a run, one per line. */
    static String after(List<AdoptReport> reports, AdoptionPlan plan, ServerUrl old) {
        List<String> steps = new ArrayList<>();
        if (reports.stream().anyMatch(report -> report.state() == AdoptState.FOLLOWING)) {
            steps.addAll(ofReferenceTables(plan, old));
        } else if (reports.stream().allMatch(report -> report.state() == AdoptState.FINISHED)) {
            steps.addAll(ofLookups(plan));
        }
        return text(steps);
    }

    /** The steps after the last shard has left the old database, each on a line. */
    static String afterAllHaveLeft(AdoptionPlan plan) {
        return text(ofLookups(plan));
    }

    private static String text(List<String> steps) {
        return steps.isEmpty() ? "" : "\n" + String.join("\n", steps);
    }

    private static List<String> ofReferenceTables(AdoptionPlan plan, ServerUrl old) {
        List<Table> tables = plan.tables().stream()
                .filter(table -> table.goes() == Goes.REFERENCE)
                .toList();
        List<String> steps = new ArrayList<>();
        if (!tables.isEmpty()) {
            for (ReferredFirst.Placed placed : ReferredFirst.sorted(tables, old)) {
                Table table = placed.table();
                // Its foreign key to the later table cannot be checked yet, and holds in the old database.
                String unchecked = placed.refersToLater() ? "-c 'SET session_replication_role = replica' " : "";
                steps.add("  psql OLD_URL -c %s | psql HOME_URL %s-c %s"
                        .formatted(
                                CliCommand.quoted("COPY %s TO STDOUT"
                                        .formatted(table.name().sql())),
                                unchecked,
                                CliCommand.quoted(
                                        "COPY reference.%s FROM STDIN".formatted(SqlText.name(table.target())))));
            }
        }
        if (!steps.isEmpty()) {
            steps.add(0, "before that, fill the reference tables on their home, if you have not yet:");
        }
        return steps;
    }

    private static List<String> ofLookups(AdoptionPlan plan) {
        List<String> steps = new ArrayList<>();
        for (Lookup lookup : plan.lookups()) {
            steps.add("  " + create(lookup, plan.table(lookup.table()).orElseThrow()));
            steps.add("  " + CliCommand.LOOKUP_BACKFILL.with(lookup.name()));
        }
        if (!steps.isEmpty()) {
            steps.add(0, "lookups of the plan, if you have not created them yet:");
        }
        return steps;
    }

    private static String create(Lookup lookup, Table table) {
        CliCommand form = lookup.isUnique() ? CliCommand.LOOKUP_CREATE_UNIQUE_OF : CliCommand.LOOKUP_CREATE_OF;
        return form.with(
                        lookup.name(),
                        table.target(),
                        lookup.columns().get(0),
                        Objects.requireNonNull(table.shardKey()))
                .toString();
    }
}
