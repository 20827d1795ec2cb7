/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.reference;

import java.util.Map;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ServerNames;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake reference move}: changes the home. */
@Command(
        name = "move",
        description = {
            "Changes the server where reference tables are written. For a moment no server takes writes to them, and routers retry;"
                    + " nothing that was written is lost.",
            "Needs all servers. If interrupted, run the same command again; to go back, name the old home."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the server is the home",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong, or there is no such server",
            "4:there are no reference tables, a server does not follow the home, or another command was interrupted; nothing was changed"
        },
        footer = {"", "Example: shardflake reference move --to db2"})
final class ReferenceMoveCommand implements Runnable {

    @Option(
            names = "--to",
            paramLabel = "SERVER",
            required = true,
            completionCandidates = ServerNames.class,
            description = "The server that becomes the home.")
    private String to;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        catalog.installation().referenceTables(catalog.catalog().load()).move(to);
        output.print(Map.of("home", to), () -> "reference tables are written on %s".formatted(to));
    }
}
