/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.reference;

import java.util.concurrent.Callable;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.reference.ReferenceStatus;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake reference status}: shows the home, the tables, and how far other servers are behind. */
@Command(
        name = "status",
        description = {
            "Shows the home of the reference tables, and the delay with which each other server follows it.",
            "Sends a mark through each stream and awaits it for up to 5 s."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every server follows the home",
            "1:the home or the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog, or there are no reference tables",
            "5:a server does not follow, or a command was interrupted"
        },
        footer = {"", "Example: shardflake reference status -o json"})
final class ReferenceStatusCommand implements Callable<Integer> {

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        ReferenceStatus status =
                catalog.installation().referenceTables(catalog.catalog().load()).status();
        output.print(ReferenceView.facts(status), () -> ReferenceView.text(status));
        return status.isWell() ? ExitCodes.OK : ExitCodes.VERIFICATION;
    }
}
