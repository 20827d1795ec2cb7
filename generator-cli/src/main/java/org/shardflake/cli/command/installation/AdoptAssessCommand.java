/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.shardflake.assess.Assessment;
import org.shardflake.assess.Assessor;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.cli.output.HtmlPage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake adopt assess}: assesses how a database would be sharded. */
@Command(
        name = "assess",
        description = {
            "Shows how an ordinary database would be sharded: by which key, where each table would go, what stands in the way, and which share of"
                    + " its statements could be sent to one shard. Only reads.",
            "Statements come from pg_stat_statements, if the database has it, or from a file. PostgreSQL plans each of"
                    + " them, and runs none."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the database was assessed, whatever was found",
            "1:the database cannot be reached, or failed",
            "2:the command line is wrong, or the database has no such key",
            "4:no key can be proposed, or PostgreSQL is older than 12"
        },
        footer = {"", "Example: shardflake adopt assess --from postgresql://app@old/app --html assessment.html"})
public final class AdoptAssessCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--from",
            paramLabel = "URL",
            required = true,
            description =
                    "The database. The login must be allowed to plan the application's statements, as the owner of"
                            + " its tables may; without statements, any login will do.")
    private String from;

    @Option(
            names = "--key",
            paramLabel = "COLUMN",
            description = "Assess this key, such as users.id or tenant_id (default: the one that suits best).")
    private @Nullable String key;

    @Option(
            names = "--statements",
            paramLabel = "FILE",
            description = "SQL statements of the application, with semicolons between them; parameters are ? or $1"
                    + " (default: those of pg_stat_statements).")
    private @Nullable Path statements;

    @Option(
            names = "--top",
            paramLabel = "NUMBER",
            defaultValue = "10",
            description = "How many of the statements without a key to show (default: ${DEFAULT-VALUE}).")
    private int top;

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description = "Write a self-contained page with the graph of the tables and all statements.")
    private @Nullable Path html;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        if (top < 0) {
            throw CliException.usage("--top is %s, and must be 0 or more".formatted(top));
        }
        Assessment assessment = Assessor.assess(
                Invocation.of(spec).url(from), key, statements == null ? null : FileFailure.read(statements));
        if (html != null) {
            HtmlPage.write(html, HtmlPage.of(AdoptAssessCommand.class, "assess.html", AssessView.facts(assessment)));
        }
        output.print(AssessView.facts(assessment), () -> AssessView.text(assessment, top));
    }
}
