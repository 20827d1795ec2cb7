/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.lookup;

import java.util.List;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.lookup.LookupStatus;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake lookup list}: lists all lookups, and how far they are filled. */
@Command(
        name = "list",
        description = {"Shows all lookups, and the progress of their backfill."},
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:shown",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake lookup list -o json"})
final class LookupListCommand implements Runnable {

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        List<LookupStatus> lookups = catalog.lookups().list();
        output.print(LookupView.facts(lookups), () -> LookupView.table(lookups));
    }
}
