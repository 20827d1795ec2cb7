/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.gateway;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.gateway.Gateway;
import org.shardflake.gateway.Gateways;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code shardflake gateway refresh}: brings gateways up to date. */
@Command(
        name = "refresh",
        description = {
            "Updates gateways to the current shard map and tables, in one transaction each. Moves do so themselves;",
            "after schema deploy, run it yourself."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every gateway reads all shards",
            "1:a server, the catalog or a gateway cannot be reached, failed, or kept its tables locked",
            "2:the command line is wrong, or there is no such gateway",
            "4:there is no catalog, or objects of yours depend on a table that changed"
        },
        footer = {"", "Example: shardflake gateway refresh"})
final class GatewayRefreshCommand implements Runnable {

    @Parameters(index = "0", arity = "0..1", paramLabel = "NAME", description = "Only this gateway.")
    private @Nullable String name;

    @Option(
            names = "--patience",
            paramLabel = "TIME",
            defaultValue = "30s",
            converter = DurationConverter.class,
            description = "How long to wait for queries that read the tables (default: ${DEFAULT-VALUE}).")
    private Duration patience;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        Gateways gateways = catalog.gateways();
        List<Gateway> which = name == null ? gateways.all() : List.of(gateways.gateway(name));
        List<Gateways.Refreshed> done = which.stream()
                .map(gateway -> gateways.refresh(gateway, patience))
                .toList();
        output.print(
                done.stream().map(GatewayView::facts).toList(),
                () -> done.isEmpty()
                        ? "there are no gateways"
                        : String.join("\n", done.stream().map(GatewayView::text).toList()));
    }
}
