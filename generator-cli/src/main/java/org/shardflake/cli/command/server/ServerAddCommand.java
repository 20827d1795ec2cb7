/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.server;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ReasonMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.install.Installation;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code shardflake server add}: adds a server. */
@Command(
        name = "add",
        description = {
            "Adds a server to the shard map, without shards.",
            "Deploys the function library to it, with the installation's epoch, and brings the reference tables."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the server or the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog, the name or URL is taken, or the server belongs to another installation, has shards of unknown ones, makes ids with another epoch or has a newer function library; nothing was changed"
        },
        footer = {"", "Example: shardflake server add db3 postgresql://app@db3/app --label zone=c"})
final class ServerAddCommand implements Runnable {

    @Parameters(index = "0", paramLabel = "NAME", description = "The server's name, such as db3.")
    private String name;

    @Parameters(
            index = "1",
            arity = "0..1",
            paramLabel = "URL",
            description = "The server's URL, postgresql://user@host:port/database, without a password.")
    private @Nullable String url;

    @Option(names = "--url", paramLabel = "URL", description = "The same.")
    private @Nullable String urlOption;

    @Option(
            names = "--application-url",
            paramLabel = "URL",
            description = "Where applications connect instead, such as a pooler: a URL of the same form.")
    private @Nullable String applicationUrl;

    @Option(
            names = "--label",
            paramLabel = "KEY=VALUE",
            description = "A label for the server, such as zone=c. May be repeated.")
    private Map<String, String> labels = new LinkedHashMap<>();

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private ReasonMixin reason;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        String its = ServerChange.url(url, urlOption)
                .orElseThrow(() -> CliException.usage("the URL of the server is missing"));
        Server server = ServerAccess.server(name, its, Optional.ofNullable(applicationUrl), labels);
        ShardMap map = catalog.catalog().load();
        ServerChange.requireNew(server, map);
        Installation installation = catalog.installation();
        if (dryRun.isOn()) {
            installation.checkNew(server, map.layout());
        }
        if (dryRun.shows(output, "add server " + name, ServerChange.facts(name, "added"))) {
            return;
        }
        long version = installation.add(server, reason.reason()).version();
        ServerChange.print(output, "added", name, version);
    }
}
