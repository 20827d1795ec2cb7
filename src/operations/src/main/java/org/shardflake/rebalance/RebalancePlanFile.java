/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.ShardSet;
import org.shardflake.rebalance.RebalancePlan.Change;
import org.shardflake.rebalance.RebalancePlan.Move;
import org.shardflake.rebalance.RebalancePlan.ServerChange;
import org.shardflake.yaml.TextFile;
import org.shardflake.yaml.YamlNode;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;

/**
 * A plan as a YAML file, to review, cut down and carry out.
 *
 * <pre>
 * mapVersion: 17
 * by: bytes
 * threshold: 10
 * servers:
 *   db1: {shardsBefore: 12, shardsAfter: 9, bytesBefore: 98304, bytesAfter: 73728, loadBefore: 133, loadAfter: 100}
 *   ...
 * moves:
 * - {from: db1, to: db3, shards: 9-11, bytes: 24576, fromBefore: 133, fromAfter: 100, toBefore: 0, toAfter: 100, reason: ...}
 * </pre>
 *
 * <p>Loads are in percent of the mean. {@code shards} takes what {@link ShardSet#parse} reads; there are no bytes in a plan
 * by count, and rates (rows written per second) only in one by rate or both.
 */
public final class RebalancePlanFile {

    private RebalancePlanFile() {}

    /** The plan as the text of a file. */
    public static String format(RebalancePlan plan) {
        return new Dump(DumpSettings.builder()
                        .setDefaultFlowStyle(FlowStyle.AUTO)
                        .setWidth(Integer.MAX_VALUE)
                        .build())
                .dumpToString(properties(plan));
    }

    /** The plan as maps, lists and plain values. */
    public static Map<String, Object> properties(RebalancePlan plan) {
        Map<String, Object> servers = new LinkedHashMap<>();
        plan.servers().forEach(server -> servers.put(server.name(), properties(server)));
        Map<String, Object> root = new LinkedHashMap<>();
        root.put("mapVersion", plan.mapVersion());
        root.put("by", plan.by().name().toLowerCase(Locale.ROOT));
        root.put("threshold", plan.threshold());
        root.put("servers", servers);
        root.put(
                "moves",
                plan.moves().stream().map(RebalancePlanFile::properties).toList());
        return root;
    }

    private static Map<String, Object> properties(ServerChange server) {
        Map<String, Object> properties = new LinkedHashMap<>();
        put(properties, "shards", server.shards());
        if (server.bytes() != null) {
            put(properties, "bytes", server.bytes());
        }
        if (server.rate() != null) {
            put(properties, "rate", server.rate());
        }
        put(properties, "load", server.load());
        return properties;
    }

    private static Map<String, Object> properties(Move move) {
        Map<String, Object> properties = new LinkedHashMap<>();
        properties.put("from", move.from());
        properties.put("to", move.to());
        properties.put("shards", move.shards().toString());
        if (move.bytes() != null) {
            properties.put("bytes", move.bytes());
        }
        put(properties, "from", move.fromLoad());
        put(properties, "to", move.toLoad());
        properties.put("reason", move.reason());
        return properties;
    }

    private static void put(Map<String, Object> properties, String name, Change change) {
        properties.put(name + "Before", change.before());
        properties.put(name + "After", change.after());
    }

    /** Writes the file atomically: a reader never sees half of it. */
    public static void write(RebalancePlan plan, Path file) throws IOException {
        TextFile.write(format(plan), "a plan", file);
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if it is not a plan, saying what is wrong and where
     */
    public static RebalancePlan read(Path file) throws IOException {
        return TextFile.read(file, RebalancePlanFile::parse);
    }

    /**
     * Reads the text of a file.
     *
     * @throws IllegalArgumentException if it is not a plan, saying what is wrong and where
     */
    public static RebalancePlan parse(String yaml) {
        YamlNode root = YamlNode.parse(yaml, "plan");
        root.allow("mapVersion", "by", "threshold", "servers", "moves");
        RebalanceBy by = by(root.text("by"));
        YamlNode all = root.child("servers");
        List<ServerChange> servers = new ArrayList<>();
        for (String name : all.names()) {
            servers.add(server(name, all.child(name), by));
        }
        List<Move> moves = new ArrayList<>();
        for (YamlNode move : root.children("moves", "move")) {
            moves.add(move(move, by));
        }
        checkServers(moves, servers);
        checkShards(moves);
        return new RebalancePlan(
                root.number("mapVersion", Long.MAX_VALUE),
                by,
                Math.toIntExact(root.number("threshold", Integer.MAX_VALUE)),
                servers,
                moves);
    }

    private static RebalanceBy by(String text) {
        return switch (text) {
            case "bytes" -> RebalanceBy.BYTES;
            case "count" -> RebalanceBy.COUNT;
            case "rate" -> RebalanceBy.RATE;
            case "both" -> RebalanceBy.BOTH;
            default ->
                throw new IllegalArgumentException("by is %s, not one of bytes, count, rate, both".formatted(text));
        };
    }

    private static ServerChange server(String name, YamlNode node, RebalanceBy by) {
        node.allow(
                "shardsBefore",
                "shardsAfter",
                "bytesBefore",
                "bytesAfter",
                "rateBefore",
                "rateAfter",
                "loadBefore",
                "loadAfter");
        return new ServerChange(
                name,
                change(node, "shards"),
                by.hasBytes() ? change(node, "bytes") : null,
                by.isByRate() ? change(node, "rate") : null,
                change(node, "load"));
    }

    private static Move move(YamlNode node, RebalanceBy by) {
        node.allow("from", "to", "shards", "bytes", "fromBefore", "fromAfter", "toBefore", "toAfter", "reason");
        return new Move(
                node.text("from"),
                node.text("to"),
                shards(node),
                by.hasBytes() ? node.number("bytes", Long.MAX_VALUE) : null,
                change(node, "from"),
                change(node, "to"),
                node.text("reason"));
    }

    private static Change change(YamlNode node, String property) {
        return new Change(
                node.number(property + "Before", Long.MAX_VALUE), node.number(property + "After", Long.MAX_VALUE));
    }

    private static ShardSet shards(YamlNode node) {
        try {
            return ShardSet.parse(node.text("shards"));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("shards of %s: %s".formatted(node.name(), e.getMessage()), e);
        }
    }

    private static void checkServers(List<Move> moves, List<ServerChange> servers) {
        List<String> names = servers.stream().map(ServerChange::name).toList();
        for (Move move : moves) {
            for (String name : List.of(move.from(), move.to())) {
                if (!names.contains(name)) {
                    throw new IllegalArgumentException("a move names server %s, which is not among the servers: %s"
                            .formatted(name, String.join(", ", names)));
                }
            }
            if (move.from().equals(move.to())) {
                throw new IllegalArgumentException("a move goes from %s to itself".formatted(move.from()));
            }
        }
    }

    private static void checkShards(List<Move> moves) {
        Map<Integer, Move> moveOfShard = new LinkedHashMap<>();
        for (Move move : moves) {
            move.shards().stream().forEach(shard -> {
                Move other = moveOfShard.put(shard, move);
                if (other != null) {
                    throw new IllegalArgumentException("shard %s moves to %s and to %s; a shard moves once in a plan"
                            .formatted(shard, other.to(), move.to()));
                }
            });
        }
    }
}
