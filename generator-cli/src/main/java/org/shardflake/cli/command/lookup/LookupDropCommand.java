/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.lookup;

import java.util.Map;
import java.util.concurrent.Callable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.OutputMixin;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code shardflake lookup drop}: drops a lookup. */
@Command(
        name = "drop",
        description = {
            "Drops a lookup with all its values. Routers refuse to use it from then on; the rows themselves stay. Waits 15 s until all"
                    + " routers know, then deletes.",
            "If interrupted, run the same command again."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the lookup is gone",
            "1:a server or the catalog cannot be reached, or failed; run the command again",
            "2:the command line is wrong, there is no such lookup, or it was not confirmed",
            "4:there is no catalog, or another command works on the lookup"
        },
        footer = {"", "Example: shardflake lookup drop account.email --yes"})
final class LookupDropCommand implements Callable<Integer> {

    @Parameters(index = "0", paramLabel = "NAME", description = "The lookup.")
    private String name;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        confirm.require("drop lookup " + name, Advice.of("%s shows it", CliCommand.LOOKUP_LIST));
        catalog.lookups().drop(name);
        output.print(Map.of("dropped", name), () -> "dropped lookup %s".formatted(name));
        return 0;
    }
}
