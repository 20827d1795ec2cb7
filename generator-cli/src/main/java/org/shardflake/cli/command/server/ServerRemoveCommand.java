/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.server;

import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ReasonMixin;
import org.shardflake.cli.command.option.ServerNames;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.Amounts;
import org.shardflake.split.Splitter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code shardflake server remove}: removes a server. */
@Command(
        name = "remove",
        description = {
            "Removes a server without shards from the shard map.",
            "Nothing changes on the server itself, except that it no longer gets reference tables."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong, there is no such server, or it was not confirmed",
            "4:there is no catalog, or the server has shards, is being split, or is the home of reference tables"
        },
        footer = {"", "Example: shardflake server remove db3"})
final class ServerRemoveCommand implements Runnable {

    @Parameters(
            index = "0",
            paramLabel = "NAME",
            completionCandidates = ServerNames.class,
            description = "The server, such as db3.")
    private String name;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private ReasonMixin reason;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        ShardCatalog shardCatalog = catalog.catalog();
        ShardMap map = shardCatalog.load();
        int shards = map.shards(map.server(name)).size();
        if (shards > 0) {
            throw new CliException(
                    Kind.PRECONDITION,
                    "server %s has %s".formatted(name, Amounts.shards(shards)),
                    Advice.of("%s moves them to the others", CliCommand.SERVER_DRAIN.with(name)));
        }
        Splitter.requireNotNeeded(catalog.url(), map.server(name));
        if (dryRun.shows(output, "remove server " + name, ServerChange.facts(name, "removed"))) {
            return;
        }
        confirm.require(
                "remove server %s from the shard map".formatted(name),
                Advice.of("%s shows the servers", CliCommand.SERVER_LIST));
        catalog.installation().referenceTables(map).remove(name);
        long version = shardCatalog.removeServer(name, reason.reason()).version();
        ServerChange.print(output, "removed", name, version);
    }
}
