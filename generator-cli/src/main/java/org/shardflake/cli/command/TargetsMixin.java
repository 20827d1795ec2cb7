/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import picocli.CommandLine.Option;

/** The choice of shards: all, those of some servers, or some by number. */
final class TargetsMixin {

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
            ShardSet its = ShardSet.of(
                    map.shards(server).stream().filter(wanted::contains).toArray());
            if (!its.isEmpty() && (servers.isEmpty() || servers.contains(server.name()))) {
                targets.add(new DeployTarget(server.name(), catalog.parse(server.url()), its));
            }
        }
        if (targets.isEmpty()) {
            throw CliException.usage("none of these shards is on these servers");
        }
        return targets;
    }

    /**
     * Refuses shards whose schema must not change because they are being moved. Call this while holding the servers' deploy locks: a
     * move that begins later waits for them.
     */
    static void refuseMoving(List<DeployTarget> targets, CatalogMixin catalog) {
        for (Move move : Mover.moves(Objects.requireNonNull(catalog.given()))) {
            List<Integer> moving = move.shardSet().stream()
                    .filter(shard ->
                            targets.stream().anyMatch(target -> target.shards().contains(shard)))
                    .boxed()
                    .toList();
            if (!moving.isEmpty()) {
                throw new CliException(
                        Kind.PRECONDITION,
                        "shards %s are being moved by move %d, so their schema has to stay as it is"
                                .formatted(ShardSet.of(moving), move.id()),
                        "name the others with --shards, or wait until the move is done: shardflake move status");
            }
        }
        refuseMoved(targets, catalog.catalog().load());
    }

    /** Shards that have moved since the targets were chosen are on other servers now. */
    private static void refuseMoved(List<DeployTarget> targets, ShardMap now) {
        for (DeployTarget target : targets) {
            boolean same = target.shards().stream()
                    .allMatch(shard -> now.server(shard).name().equals(target.server()));
            if (!same) {
                throw new CliException(
                        Kind.PRECONDITION,
                        "shards of %s have been moved just now; no shard was changed".formatted(target.server()),
                        "run the same command again");
            }
        }
    }

    private ShardSet wanted(ShardMap map) {
        int last = map.sharding().shardCount() - 1;
        if (shards == null) {
            return ShardSet.range(0, last);
        }
        try {
            ShardSet wanted = ShardSet.parse(shards);
            wanted.stream().forEach(map::server);
            return wanted;
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }
}
