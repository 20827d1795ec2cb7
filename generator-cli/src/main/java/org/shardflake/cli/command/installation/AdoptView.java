/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.shardflake.CliCommand;
import org.shardflake.adopt.AdoptPreview;
import org.shardflake.adopt.AdoptReport;
import org.shardflake.adopt.AdoptState;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.adopt.Slices;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.OpenAdoptions.OpenAdoption;

/** Shows adoptions, as text and as facts. */
final class AdoptView {

    private AdoptView() {}

    static Map<String, Object> facts(AdoptPreview plan) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("table", plan.table());
        facts.put("into", plan.into());
        facts.put("shards", plan.shards());
        facts.put("estimatedRows", plan.estimatedRows());
        facts.put("columns", plan.columns());
        facts.put("warnings", plan.warnings());
        facts.put("dryRun", true);
        return facts;
    }

    static String text(AdoptPreview plan) {
        StringBuilder text = new StringBuilder(String.format(
                Locale.ROOT,
                "about %s of %s would go into %s of %s%n",
                Plural.of(plan.estimatedRows(), "row"),
                plan.table(),
                plan.into(),
                Amounts.shards(plan.shards())));
        text.append("columns: ").append(String.join(", ", plan.columns())).append('\n');
        plan.warnings()
                .forEach(warning -> text.append("warning: ").append(warning).append('\n'));
        return text.toString();
    }

    static Map<String, Object> facts(AdoptReport report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("table", report.table());
        facts.put("into", report.into());
        facts.put("state", report.state().name().toLowerCase(Locale.ROOT));
        facts.put("shards", report.shards());
        facts.put("copied", report.copiedRows());
        facts.put("changes", report.changes());
        facts.put("compared", report.comparedRows());
        return facts;
    }

    static Map<String, Object> facts(AdoptionStatus status) {
        OpenAdoption adoption = status.adoption();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("table", adoption.table());
        facts.put("from", adoption.database());
        facts.put("into", adoption.into());
        facts.put("begunAt", adoption.begunAt().toString());
        status.progress().ifPresent(progress -> {
            facts.put("state", state(progress.state()));
            facts.put("commandRuns", progress.isWorkedOn());
            facts.put("copied", progress.copiedRows());
            facts.put("changes", progress.changes());
            progress.oldest().ifPresent(at -> facts.put("oldestChangeAt", at.toString()));
            facts.put("triggers", progress.triggers());
            progress.slices().ifPresent(slices -> {
                facts.put("remaining", slices.remaining().toString());
                facts.put("over", slices.over().toString());
                facts.put("back", slices.back().toString());
            });
        });
        facts.put("problem", status.problem());
        return facts;
    }

    private static String state(AdoptState state) {
        return state.name().toLowerCase(Locale.ROOT);
    }

    static String table(List<AdoptionStatus> open) {
        if (open.isEmpty()) {
            return "no adoption is in progress";
        }
        TableWriter table = new TableWriter("TABLE", "INTO", "STATE", "COPIED", "CHANGES", "OLDEST", "SINCE", "FROM")
                .mayLeaveOut("SINCE");
        boolean isWorkedOn = open.stream()
                .flatMap(status -> status.progress().stream())
                .anyMatch(AdoptionStatus.Progress::isWorkedOn);
        Set<String> places = new LinkedHashSet<>();
        Set<String> problems = new LinkedHashSet<>();
        for (AdoptionStatus status : open) {
            status.progress().flatMap(AdoptionStatus.Progress::slices).ifPresent(slices -> {
                places.add("%s: %s".formatted(status.adoption().database(), text(slices)));
                if (!slices.closed().isEmpty() && !isWorkedOn) {
                    problems.add(
                            "writes to %s are refused, since a command that was about to bring %s back has ended: run %s or %s"
                                    .formatted(
                                            Plural.shards(slices.closed()),
                                            Plural.choose(slices.closed(), "it", "them"),
                                            AdoptionStatus.command(open, CliCommand.ADOPT_REVERSE),
                                            AdoptionStatus.command(open, CliCommand.ADOPT_CUTOVER)));
                }
            });
            OpenAdoption adoption = status.adoption();
            Optional<AdoptionStatus.Progress> progress = status.progress();
            table.row(
                    adoption.table(),
                    adoption.into(),
                    progress.map(its -> state(its.state())).orElse("unknown"),
                    progress.map(its -> String.format(Locale.ROOT, "%,d", its.copiedRows()))
                            .orElse("-"),
                    progress.map(AdoptView::changes).orElse("-"),
                    progress.filter(its -> its.oldest().isPresent())
                            .map(its -> Amounts.duration(its.age()))
                            .orElse("-"),
                    adoption.begunAt().truncatedTo(ChronoUnit.SECONDS),
                    adoption.database());
            if (status.isLeftClosed()) {
                problems.add("%s refuses writes, and no command works on it: --finish or --reopen ends that"
                        .formatted(adoption.table()));
            }
            progress.ifPresent(its -> its.triggers()
                    .forEach(trigger -> problems.add("%s: run %s, which puts it back and copies the rows again"
                            .formatted(trigger, status.command(CliCommand.ADOPT_RUN)))));
            if (!status.problem().isEmpty()) {
                problems.add("%s: %s".formatted(adoption.database(), status.problem()));
            }
        }
        return table
                + (places.isEmpty() ? "" : "\n" + String.join("\n", places))
                + (problems.isEmpty() ? "" : "\n" + String.join("\n", problems))
                + "\nto continue: %s, or %s; with --finish to end it, with --cancel to give it up"
                        .formatted(CliCommand.ADOPT_RUN, CliCommand.ADOPT_RUN_TABLE);
    }

    private static String text(Slices slices) {
        List<String> parts = new ArrayList<>();
        if (!slices.remaining().isEmpty()) {
            parts.add(Plural.shards(slices.remaining(), "is in it", "are in it"));
        }
        if (!slices.back().isEmpty()) {
            parts.add(Plural.shards(slices.back(), "of these has come back", "of these have come back"));
        }
        if (!slices.over().isEmpty()) {
            parts.add(Plural.shards(slices.over(), "has left", "have left"));
        }
        return String.join("; ", parts);
    }

    private static String changes(AdoptionStatus.Progress progress) {
        return String.format(Locale.ROOT, "%,d", progress.changes())
                + (progress.changes() >= AdoptionStatus.MOST_CHANGES ? "+" : "");
    }

    /** The text about tables after a run. */
    static String text(List<AdoptReport> reports) {
        TableWriter table = new TableWriter("TABLE", "INTO", "STATE", "COPIED", "CHANGES", "COMPARED");
        reports.forEach(report -> table.row(
                report.table(),
                report.into(),
                report.state().name().toLowerCase(Locale.ROOT),
                String.format(Locale.ROOT, "%,d", report.copiedRows()),
                String.format(Locale.ROOT, "%,d", report.changes()),
                report.comparedRows() < 0 ? "" : String.format(Locale.ROOT, "%,d", report.comparedRows())));
        Set<AdoptState> states = reports.stream().map(AdoptReport::state).collect(Collectors.toSet());
        return table
                + (states.contains(AdoptState.FOLLOWING)
                        ? "\nwhen the application is ready to write to the shards, add --finish"
                        : "")
                + (states.contains(AdoptState.CLOSED)
                        ? "\nclosed tables take no writes, since --finish was killed: run that again, or --reopen"
                        : "");
    }
}
