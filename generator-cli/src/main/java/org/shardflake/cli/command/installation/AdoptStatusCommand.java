/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.List;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.move.OpenAdoptions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake adopt status}: lists adoptions that are neither finished nor cancelled. */
@Command(
        name = "status",
        description = {
            "Lists the adoptions that are neither finished nor cancelled, with the changes that wait in the journals of their old databases. No shard can be moved until they are.",
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
        List<AdoptionStatus> open = AdoptionStatus.of(new OpenAdoptions(catalog.url()).list(), catalog::parse);
        output.print(open.stream().map(AdoptView::facts).toList(), () -> AdoptView.table(open));
    }
}
