/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.reference;

import java.util.Map;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake reference repair}: makes all servers follow the home again. */
@Command(
        name = "repair",
        description = {
            "Makes every server follow the home again, for instance after a failover that lost a replication slot: creates missing tables, recreates broken streams, and sets differing rows to those of the home."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every server follows the home and has its rows",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there are no reference tables, or another command was interrupted"
        },
        footer = {"", "Example: shardflake reference repair"})
final class ReferenceRepairCommand implements Runnable {

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        Map<String, Long> changed =
                catalog.installation().referenceTables(catalog.catalog().load()).repair();
        output.print(ReferenceView.facts(changed), () -> ReferenceView.text(changed));
    }
}
