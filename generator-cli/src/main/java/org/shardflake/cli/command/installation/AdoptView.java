/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.adopt.AdoptPreview;
import org.shardflake.adopt.AdoptReport;
import org.shardflake.adopt.AdoptState;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.jdbc.Plural;

/** Adoptions as text and as facts. */
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

    static String text(AdoptReport report) {
        String copied = "copied %s of %s into %s of %s"
                .formatted(
                        Plural.of(report.copiedRows(), "row"),
                        report.table(),
                        report.into(),
                        Amounts.shards(report.shards()));
        return switch (report.state()) {
            case COPYING -> copied + "; run it again to continue";
            case FOLLOWING ->
                String.format(
                        Locale.ROOT,
                        "%s, and %s since%nwhen the application is ready to write to the shards, add --finish",
                        copied,
                        Plural.of(report.changes(), "change"));
            case CLOSED ->
                "%s; it is closed to writes, since --finish was killed: run that again, or --reopen".formatted(copied);
            case FINISHED ->
                report.comparedRows() < 0
                        ? "%s was adopted before; nothing to do".formatted(report.table())
                        : String.format(
                                Locale.ROOT,
                                "%s, and %s since; %s compared, all equal%n%s no longer takes writes",
                                copied,
                                Plural.of(report.changes(), "change"),
                                Plural.of(report.comparedRows(), "row"),
                                report.table());
            case CANCELLED -> "cancelled: the shards have no rows of %s, which is unchanged".formatted(report.table());
        };
    }

    /** Several tables of one plan. */
    static String text(List<AdoptReport> reports) {
        TableWriter table = new TableWriter("TABLE", "INTO", "STATE", "COPIED", "CHANGES", "COMPARED");
        reports.forEach(report -> table.row(
                report.table(),
                report.into(),
                report.state().name().toLowerCase(Locale.ROOT),
                String.format(Locale.ROOT, "%,d", report.copiedRows()),
                String.format(Locale.ROOT, "%,d", report.changes()),
                report.comparedRows() < 0 ? "" : String.format(Locale.ROOT, "%,d", report.comparedRows())));
        boolean follows = reports.stream().anyMatch(report -> report.state() == AdoptState.FOLLOWING);
        return table + (follows ? "\nwhen the application is ready to write to the shards, add --finish" : "");
    }
}
