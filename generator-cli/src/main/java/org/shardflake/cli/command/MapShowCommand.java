/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import org.shardflake.ShardMap;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code shardflake map show}: the whole shard map. */
@Command(
        name = "show",
        description = {
            "Shows the shard map: its version, and the shards of each server.",
            "The table has room for the first of the shards; json and yaml have them all."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake map show -o json"})
final class MapShowCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        ShardMap map = catalog.catalog().load();
        output.print(spec.commandLine().getOut(), ShardMapView.facts(map), () -> ShardMapView.table(map));
    }
}
