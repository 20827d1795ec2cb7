/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.gateway;

import java.util.List;
import java.util.concurrent.Callable;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.gateway.Gateways;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake gateway status}: shows whether gateways read all shards where they are. */
@Command(
        name = "status",
        description = "Shows the gateways, and whether each reads every shard on the server that has it.",
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:all do",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog",
            "5:one does not, or cannot be reached"
        },
        footer = {"", "Example: shardflake gateway status -o json"})
final class GatewayStatusCommand implements Callable<Integer> {

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        catalog.catalog().load(); // Fails if the database has no catalog.
        List<Gateways.Status> all = catalog.gateways().status();
        output.print(
                all.stream().map(GatewayView::facts).toList(),
                () -> all.isEmpty() ? "there are no gateways" : GatewayView.table(all));
        return all.stream().allMatch(Gateways.Status::isCurrent) ? ExitCodes.OK : ExitCodes.VERIFICATION;
    }
}
