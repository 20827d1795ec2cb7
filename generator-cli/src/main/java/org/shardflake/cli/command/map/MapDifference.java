/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.map;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.TableWriter;

/**
 * The differences between two versions of one shard map.
 *
 * @param moves the shards that change servers, by source and target
 * @param catchesUp whether epochs are later, as counted by servers newer than the catalog
 */
record MapDifference(
        List<String> added, List<String> changed, List<String> removed, List<Move> moves, boolean catchesUp) {

    record Move(String from, String to, ShardSet shards) {}

    /**
     * Compares the catalog's map with the wanted one.
     *
     * @throws CliException if they belong to different installations, or the wanted one is based on another version
     */
    static MapDifference between(ShardMap current, ShardMap wanted) {
        if (!current.sharding().equals(wanted.sharding()) || !current.layout().equals(wanted.layout())) {
            throw new CliException(
                    Kind.PRECONDITION,
                    "the file has %s shards and epoch %s, but the catalog has %s shards and epoch %s, which never change"
                            .formatted(
                                    wanted.sharding().shardCount(),
                                    wanted.layout().epoch(),
                                    current.sharding().shardCount(),
                                    current.layout().epoch()),
                    null);
        }
        if (current.version() != wanted.version()) {
            throw new CliException(
                    Kind.PRECONDITION,
                    "the file is based on version %s, but the shard map is at version %s"
                            .formatted(wanted.version(), current.version()),
                    "export again and repeat the edit");
        }
        return new MapDifference(
                names(wanted, server -> find(current, server) == null),
                names(wanted, server -> find(current, server) != null && !server.equals(find(current, server))),
                names(current, server -> find(wanted, server) == null),
                moves(current, wanted),
                IntStream.range(0, wanted.sharding().shardCount())
                        .anyMatch(shard -> wanted.placement(shard).epoch()
                                > current.placement(shard).epoch()));
    }

    private static List<String> names(ShardMap map, Predicate<Server> which) {
        return map.servers().stream().filter(which).map(Server::name).toList();
    }

    private static @Nullable Server find(ShardMap map, Server server) {
        return map.servers().stream()
                .filter(other -> other.name().equals(server.name()))
                .findFirst()
                .orElse(null);
    }

    private static List<Move> moves(ShardMap current, ShardMap wanted) {
        Map<String, Map<String, List<Integer>>> shards = new TreeMap<>();
        for (int shard = 0; shard < wanted.sharding().shardCount(); shard++) {
            String from = current.server(shard).name();
            String to = wanted.server(shard).name();
            if (!from.equals(to)) {
                shards.computeIfAbsent(to, t -> new TreeMap<>())
                        .computeIfAbsent(from, f -> new ArrayList<>())
                        .add(shard);
            }
        }
        List<Move> moves = new ArrayList<>();
        shards.forEach((to, froms) -> froms.forEach((from, list) -> moves.add(new Move(from, to, ShardSet.of(list)))));
        return moves;
    }

    /** The number of shards that change servers. */
    int shardCount() {
        return moves.stream().mapToInt(move -> move.shards().size()).sum();
    }

    Map<String, Object> facts(long version) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("version", version);
        facts.put("serversAdded", added);
        facts.put("serversChanged", changed);
        facts.put("serversRemoved", removed);
        facts.put("epochsCountedOn", catchesUp);
        facts.put("shardsPlaced", moves.stream().map(MapDifference::facts).toList());
        return facts;
    }

    private static Map<String, Object> facts(Move move) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", move.to());
        facts.put("fromServer", move.from());
        facts.put("shardCount", move.shards().size());
        facts.put("shards", move.shards().toString());
        return facts;
    }

    String table() {
        if (added.isEmpty() && changed.isEmpty() && removed.isEmpty() && moves.isEmpty() && !catchesUp) {
            return "the shard map is as the file has it";
        }
        TableWriter table = new TableWriter("CHANGE", "SERVER", "FROM", "COUNT", "SHARDS");
        added.forEach(server -> table.row("server added", server, "", "", ""));
        changed.forEach(server -> table.row("server changed", server, "", "", ""));
        for (Move move : moves) {
            ShardSet shards = move.shards();
            table.row("shards placed", move.to(), move.from(), shards.size(), TableWriter.shorten(shards));
        }
        if (catchesUp) {
            table.row("epochs counted on", "", "", "", "");
        }
        removed.forEach(server -> table.row("server removed", server, "", "", ""));
        return table.toString();
    }
}
