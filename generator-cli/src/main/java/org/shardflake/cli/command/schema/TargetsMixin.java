/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.schema;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ShardsOption;
import org.shardflake.cli.error.CliException;
import org.shardflake.deploy.DeployTarget;
import picocli.CommandLine.Option;

/** The options that choose shards: all, those of some servers, or some by number. */
public final class TargetsMixin {

    @Option(
            names = "--shards",
            paramLabel = "SHARDS",
            description = "Only these shards, such as 0-99,1341 (default: all of the shard map).")
    private @Nullable String shards;

    @Option(
            names = "--servers",
            paramLabel = "NAMES",
            split = ",",
            description = "Only the shards on these servers, separated by commas (default: all of the shard map).")
    private List<String> servers = new ArrayList<>();

    /** A target for each server that has some of the shards. */
    List<DeployTarget> targets(ShardMap map, CatalogMixin catalog) {
        ShardSet wanted = wanted(map);
        servers.forEach(map::server);
        List<DeployTarget> targets = new ArrayList<>();
        for (Server server : map.servers()) {
            ShardSet its = map.shards(server).and(wanted);
            if (!its.isEmpty() && (servers.isEmpty() || servers.contains(server.name()))) {
                targets.add(new DeployTarget(server.name(), catalog.urlOf(server), its));
            }
        }
        if (targets.isEmpty()) {
            throw CliException.usage("none of these shards is on these servers");
        }
        return targets;
    }

    private ShardSet wanted(ShardMap map) {
        int last = map.sharding().shardCount() - 1;
        if (shards == null) {
            return ShardSet.range(0, last);
        }
        return ShardsOption.parse(shards, map);
    }
}
