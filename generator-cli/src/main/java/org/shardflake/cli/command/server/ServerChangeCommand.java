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
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ReasonMixin;
import org.shardflake.cli.command.option.ServerNames;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.server.ServerAccess;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code shardflake server change}: changes a server's URL and labels. */
@Command(
        name = "change",
        description = {
            "Changes the URLs or the labels of a server, as after a failover to another host.",
            "The server at the new URL must be reachable and have the function library: it is the same server"
                    + " with the same shards. Labels not named stay as they are."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the server or the catalog cannot be reached, or failed",
            "2:the command line is wrong, or there is no such server",
            "4:there is no catalog, the URL is another server's or that of another installation's, or no function library with this epoch is there"
        },
        footer = {"", "Example: shardflake server change db1 postgresql://app@db1b/app --reason failover"})
final class ServerChangeCommand implements Runnable {

    @Parameters(
            index = "0",
            paramLabel = "NAME",
            completionCandidates = ServerNames.class,
            description = "The server, such as db1.")
    private String name;

    @Parameters(
            index = "1",
            arity = "0..1",
            paramLabel = "URL",
            description = "The server's new URL, postgresql://user@host:port/database, without a password.")
    private @Nullable String url;

    @Option(names = "--url", paramLabel = "URL", description = "The same.")
    private @Nullable String urlOption;

    @Option(
            names = "--application-url",
            paramLabel = "URL",
            description =
                    "Where applications connect instead, such as a pooler; with no value, they connect to the server's own URL again.")
    private @Nullable String applicationUrl;

    @Option(
            names = "--label",
            paramLabel = "KEY=VALUE",
            description = "A label to set or, with no value, to remove. May be repeated.")
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
        if (ServerChange.url(url, urlOption).isEmpty() && applicationUrl == null && labels.isEmpty()) {
            throw CliException.usage("nothing to change: give a URL, --application-url or --label");
        }
        ShardCatalog shardCatalog = catalog.catalog();
        ShardMap map = shardCatalog.load();
        Server server = changed(map.server(name));
        ServerChange.requireOwnUrls(server, map);
        shardCatalog.requireKeeps(server);
        if (ServerChange.url(url, urlOption).isPresent()) {
            catalog.installation().requireLibrary(server, map.layout());
            catalog.installation().requireOwn(server);
        }
        if (dryRun.shows(output, "change server " + name, ServerChange.facts(name, "changed"))) {
            return;
        }
        long version = shardCatalog.changeServer(server, reason.reason()).version();
        ServerChange.print(output, "changed", name, version);
    }

    private Server changed(Server server) {
        Map<String, String> merged = new LinkedHashMap<>(server.labels());
        labels.forEach((key, value) -> {
            if (value.isEmpty()) {
                merged.remove(key);
            } else {
                merged.put(key, value);
            }
        });
        return ServerAccess.server(
                name, ServerChange.url(url, urlOption).orElse(server.url()), applicationUrl(server), merged);
    }

    private Optional<String> applicationUrl(Server server) {
        return applicationUrl == null
                ? server.applicationUrl()
                : Optional.of(applicationUrl).filter(given -> !given.isEmpty());
    }
}
