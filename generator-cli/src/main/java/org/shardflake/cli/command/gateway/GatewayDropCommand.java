/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.gateway;

import java.util.Map;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.gateway.Gateway;
import org.shardflake.gateway.Gateways;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code shardflake gateway drop}: removes a gateway. */
@Command(
        name = "drop",
        description = {
            "Removes a gateway: its schema, with all that depends on it, its foreign servers with their logins, and its views on the servers."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:it is gone",
            "1:a server, the catalog or the gateway cannot be reached, or failed; run the same command again",
            "2:the command line is wrong, there is no such gateway, or not confirmed",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake gateway drop gateway --yes"})
final class GatewayDropCommand implements Runnable {

    @Parameters(index = "0", paramLabel = "NAME", description = "The gateway.")
    private String name;

    @Option(names = "--is-gone", description = "Its database is gone: remove what is left of it elsewhere.")
    private boolean isGone;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        Gateways gateways = catalog.gateways();
        Gateway gateway = gateways.gateway(name);
        confirm.require(
                "drop schema %s on %s with all that depends on it".formatted(gateway.schema(), gateway.url()),
                Advice.of("%s shows the gateways", CliCommand.GATEWAY_STATUS));
        gateways.drop(gateway, isGone);
        output.print(Map.of("dropped", name), () -> "dropped gateway %s".formatted(name));
    }
}
