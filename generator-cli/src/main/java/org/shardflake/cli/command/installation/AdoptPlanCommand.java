/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.AdoptionPlanFile;
import org.shardflake.adoption.PlanFiles;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.jdbc.Plural;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake adopt plan}: plans how the tables of a database go into shards. */
@Command(
        name = "plan",
        description = {
            "Plans how the tables of an ordinary database go into the shards: writes a file to be reviewed, edited and kept in version control,"
                    + " and the changelogs of the shards' tables and of the reference tables. Only reads from the database.",
            "Run it again after changes of the database or of the file: what was edited is kept, and what would be made otherwise is"
                    + " named. Changesets that exist are left as they are, unless --rewrite is given."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the files are up to date, or what differs was edited, and is named",
            "1:the database cannot be reached, or a file cannot be written",
            "2:the command line is wrong, or the database has no such key or history of Flyway's",
            "4:no key can be proposed, PostgreSQL is older than 12, or a file is invalid; nothing was written"
        },
        footer = {"", "Example: shardflake adopt plan --from postgresql://app@old/app --into db"})
public final class AdoptPlanCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Option(names = "--from", paramLabel = "URL", required = true, description = "The database, as for adopt assess.")
    private String from;

    @Option(
            names = "--key",
            paramLabel = "COLUMN",
            description =
                    "The sharding key, such as users.id or tenant_id (default: that of the file, or the one that suits best).")
    private @Nullable String key;

    @Option(
            names = "--statements",
            paramLabel = "FILE",
            description =
                    "SQL statements of the application, by which the key is proposed (default: those of pg_stat_statements).")
    private @Nullable Path statements;

    @Option(
            names = "--file",
            paramLabel = "FILE",
            defaultValue = "adoption.yaml",
            description = "The plan (default: ${DEFAULT-VALUE}).")
    private Path file;

    @Option(
            names = "--into",
            paramLabel = "DIRECTORY",
            description = "The directory of new changelogs (default: that of the plan).")
    private @Nullable Path into;

    @Option(
            names = "--flyway-history",
            paramLabel = "TABLE",
            description =
                    "The history of Flyway's that the shards take over if the database has several, such as public.flyway_schema_history"
                            + " (default: the one of the existing plan, or the one that has all versions of the others).")
    private @Nullable String history;

    @Option(
            names = "--rewrite",
            description =
                    "Make changesets again that would now be made otherwise and were not edited. Only before they are"
                            + " deployed: schema deploy refuses changesets that were changed afterwards.")
    private boolean rewrite;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        String given = statements == null ? null : FileFailure.read(statements);
        Path directory = into == null ? file.toAbsolutePath().getParent() : into;
        try {
            PlanFiles.Report report = new PlanFiles(file, directory == null ? Path.of("") : directory, rewrite)
                    .plan(Invocation.of(spec).url(from), key, given, history);
            output.print(facts(report), () -> text(report));
        } catch (IOException e) {
            throw FileFailure.explain("plan into", file.toString(), e);
        }
    }

    private static Map<String, Object> facts(PlanFiles.Report report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("plan", AdoptionPlanFile.properties(report.plan()));
        facts.put("written", report.written());
        facts.put("kept", report.kept());
        return facts;
    }

    private String text(PlanFiles.Report report) {
        AdoptionPlan plan = report.plan();
        List<String> lines = new ArrayList<>();
        lines.add("%s by %s: %s into the shards, %s, %s"
                .formatted(
                        Plural.of(plan.tables().size(), "table"),
                        plan.key().table() == null
                                ? plan.key().column()
                                : plan.key().table() + "." + plan.key().column(),
                        count(plan, Goes.SHARDS),
                        Plural.of(count(plan, Goes.REFERENCE), "reference table"),
                        count(plan, Goes.STAYS) == 1 ? "1 stays" : count(plan, Goes.STAYS) + " stay"));
        report.written().forEach(file -> lines.add("wrote " + file));
        if (report.written().isEmpty()) {
            lines.add("the files are up to date");
        }
        if (!report.kept().isEmpty()) {
            lines.add("kept as it is:");
            report.kept().forEach(kept -> lines.add("  " + kept));
        }
        if (!plan.leftOut().isEmpty()) {
            lines.add("what the shards will not have, and what to do about it:");
            plan.leftOut().forEach(one -> {
                lines.add("  %s: %s"
                        .formatted(one.table() == null ? plan.source().database() : one.table(), one.problem()));
                lines.add("    " + one.remedy());
            });
        }
        if (!report.written().isEmpty()) {
            lines.addAll(AdoptSteps.after(file, report));
        }
        return String.join("\n", lines);
    }

    private static int count(AdoptionPlan plan, Goes goes) {
        return (int)
                plan.tables().stream().filter(table -> table.goes() == goes).count();
    }
}
