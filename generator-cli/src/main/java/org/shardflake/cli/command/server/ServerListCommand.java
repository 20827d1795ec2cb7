/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.server;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.map.ShardMapView;
import org.shardflake.cli.output.TableWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake server list}: lists all servers. */
@Command(
        name = "list",
        description = "Lists the servers of the shard map, with how many shards each has.",
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake server list -o json"})
final class ServerListCommand implements Runnable {

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        catalog.onlyReads();
        ShardMap map = catalog.catalog().load();
        output.print(ShardMapView.servers(map), () -> table(map));
    }

    private static String table(ShardMap map) {
        boolean hasApplicationUrls = ShardMapView.hasApplicationUrls(map);
        TableWriter table = hasApplicationUrls
                ? new TableWriter("SERVER", "SHARDS", "URL", "APPLICATION URL", "LABELS")
                        .mayLeaveOut("LABELS", "APPLICATION URL")
                : new TableWriter("SERVER", "SHARDS", "URL", "LABELS").mayLeaveOut("LABELS");
        for (Server server : map.servers()) {
            List<Object> row =
                    new ArrayList<>(List.of(server.name(), map.shards(server).size(), server.url()));
            if (hasApplicationUrls) {
                row.add(server.applicationUrl().orElse(""));
            }
            row.add(labels(server.labels()));
            table.row(row.toArray());
        }
        return table.toString();
    }

    private static String labels(Map<String, String> labels) {
        return labels.entrySet().stream()
                .map(label -> label.getKey() + "=" + label.getValue())
                .collect(Collectors.joining(","));
    }
}
