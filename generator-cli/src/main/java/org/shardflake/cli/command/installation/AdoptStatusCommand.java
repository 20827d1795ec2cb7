/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.CliCommand;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.move.OpenAdoptions;
import org.shardflake.move.OpenAdoptions.OpenAdoption;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake adopt status}: lists adoptions that are neither finished nor cancelled. */
@Command(
        name = "status",
        description = {
            "Lists the adoptions that are neither finished nor cancelled. No shard can be moved until they are.",
            "The command that began one continues it: adopt run for the tables of a plan, else adopt TABLE."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake adopt status"})
final class AdoptStatusCommand implements Runnable {

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        catalog.onlyReads();
        catalog.catalog().load(); // Fails if the database has no catalog.
        List<OpenAdoption> open = new OpenAdoptions(catalog.url()).list();
        output.print(open.stream().map(AdoptStatusCommand::facts).toList(), () -> table(open));
    }

    private static Map<String, Object> facts(OpenAdoption adoption) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("table", adoption.table());
        facts.put("from", adoption.database());
        facts.put("into", adoption.into());
        facts.put("begunAt", adoption.begunAt().toString());
        return facts;
    }

    private static String table(List<OpenAdoption> open) {
        if (open.isEmpty()) {
            return "no adoption is in progress";
        }
        TableWriter table = new TableWriter("TABLE", "INTO", "SINCE", "FROM");
        open.forEach(adoption -> table.row(
                adoption.table(),
                adoption.into(),
                adoption.begunAt().truncatedTo(ChronoUnit.SECONDS),
                adoption.database()));
        return table
                + "\nto continue: %s, or %s; with --finish to end it, with --cancel to give it up"
                        .formatted(CliCommand.ADOPT_RUN, CliCommand.ADOPT);
    }
}
