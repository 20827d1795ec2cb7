/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.yaml.TextFile;
import org.shardflake.yaml.YamlNode;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;

/**
 * The shard map as a YAML file, to inspect, to edit and import, or to route by without a catalog.
 *
 * <pre>
 * version: 17
 * shardCount: 2000
 * epochMillis: 1735689600000
 * servers:
 *   db1: {url: postgresql://app@db1.example/app, labels: {zone: a}, shards: 0-999}
 *   db2: {url: postgresql://app@db2.example/app, shards: 1000-1999}
 * epochs: {2: '7,1341'}
 * </pre>
 *
 * <p>{@code version} counts from 1 and may be left out, like {@code labels}; {@code applicationUrl} is the address for
 * routers, if it is another one than {@code url}; {@code shards} takes what
 * {@link ShardSet#parse} reads; {@code epochs} names the shards whose epoch is not 1.
 */
public final class ShardMapFile {

    private ShardMapFile() {}

    /** The map as the text of a file. */
    public static String format(ShardMap map) {
        Map<String, Object> servers = new LinkedHashMap<>();
        for (Server server : map.servers()) {
            Map<String, Object> properties = new LinkedHashMap<>();
            properties.put("url", server.url());
            server.applicationUrl().ifPresent(url -> properties.put("applicationUrl", url));
            if (!server.labels().isEmpty()) {
                properties.put("labels", new LinkedHashMap<>(server.labels()));
            }
            properties.put("shards", map.shards(server).toString());
            servers.put(server.name(), properties);
        }
        Map<String, Object> root = new LinkedHashMap<>();
        root.put("version", map.version());
        root.put("shardCount", map.sharding().shardCount());
        root.put("epochMillis", map.layout().epochMillis());
        root.put("servers", servers);
        Map<Long, String> epochs = epochs(map);
        if (!epochs.isEmpty()) {
            root.put("epochs", epochs);
        }
        return new Dump(DumpSettings.builder()
                        .setDefaultFlowStyle(FlowStyle.BLOCK)
                        .setWidth(Integer.MAX_VALUE)
                        .build())
                .dumpToString(root);
    }

    private static Map<Long, String> epochs(ShardMap map) {
        Map<Long, List<Integer>> shards = new TreeMap<>();
        for (int shard = 0; shard < map.sharding().shardCount(); shard++) {
            long epoch = map.placement(shard).epoch();
            if (epoch != 1) {
                shards.computeIfAbsent(epoch, e -> new ArrayList<>()).add(shard);
            }
        }
        Map<Long, String> epochs = new LinkedHashMap<>();
        shards.forEach((epoch, list) -> epochs.put(epoch, ShardSet.of(list).toString()));
        return epochs;
    }

    /** Writes the file atomically: a reader never sees half of it. */
    public static void write(ShardMap map, Path file) throws IOException {
        TextFile.write(format(map), "a shard map", file);
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if it is not a shard map, saying what is wrong and where
     */
    public static ShardMap read(Path file) throws IOException {
        return TextFile.read(file, ShardMapFile::parse);
    }

    /**
     * Reads the text of a file.
     *
     * @throws IllegalArgumentException if it is not a shard map, saying what is wrong and where
     */
    public static ShardMap parse(String yaml) {
        YamlNode root = YamlNode.parse(yaml, "shard map");
        root.allow("version", "shardCount", "epochMillis", "servers", "epochs");
        Sharding sharding = new Sharding((int) root.number("shardCount", Integer.MAX_VALUE));
        IdLayout layout = new IdLayout(root.number("epochMillis", Long.MAX_VALUE));
        long version = root.has("version") ? root.number("version", Long.MAX_VALUE) : 1;

        long[] epochs = readEpochs(root, sharding);
        List<Server> servers = new ArrayList<>();
        ShardPlacement[] placements = new ShardPlacement[sharding.shardCount()];
        YamlNode all = root.child("servers");
        for (String name : all.names()) {
            YamlNode properties = all.child(name);
            properties.allow("url", "applicationUrl", "labels", "shards");
            Server server =
                    new Server(name, properties.text("url"), applicationUrl(properties), properties.texts("labels"));
            servers.add(server);
            place(shards(properties, "shards", sharding), server, epochs, placements);
        }
        checkAllPlaced(placements);
        return ShardMap.of(version, sharding, layout, servers, shard -> placements[shard]);
    }

    private static Optional<String> applicationUrl(YamlNode properties) {
        return properties.has("applicationUrl") ? Optional.of(properties.text("applicationUrl")) : Optional.empty();
    }

    private static long[] readEpochs(YamlNode root, Sharding sharding) {
        long[] epochOfShard = new long[sharding.shardCount()];
        Arrays.fill(epochOfShard, 1);
        if (root.has("epochs")) {
            YamlNode epochs = root.child("epochs");
            for (String epoch : epochs.names()) {
                long value = YamlNode.number("an epoch", epoch, Long.MAX_VALUE);
                shards(epochs, epoch, sharding).stream().forEach(shard -> epochOfShard[shard] = value);
            }
        }
        return epochOfShard;
    }

    private static void place(ShardSet shards, Server server, long[] epochs, ShardPlacement[] placements) {
        shards.stream().forEach(shard -> {
            if (placements[shard] != null) {
                throw new IllegalArgumentException("shard %s is on %s and on %s; every shard has one server"
                        .formatted(shard, placements[shard].server().name(), server.name()));
            }
            placements[shard] = new ShardPlacement(shard, server, epochs[shard]);
        });
    }

    private static void checkAllPlaced(ShardPlacement[] placements) {
        List<Integer> missing = new ArrayList<>();
        for (int shard = 0; shard < placements.length; shard++) {
            if (placements[shard] == null) {
                missing.add(shard);
            }
        }
        if (!missing.isEmpty()) {
            throw new IllegalArgumentException((missing.size() == 1
                            ? "shard %s has no server; every shard has one"
                            : "shards %s have no server; every shard has one")
                    .formatted(ShardSet.of(missing)));
        }
    }

    private static ShardSet shards(YamlNode node, String property, Sharding sharding) {
        String text = node.has(property) ? node.text(property) : "";
        ShardSet shards = text.isBlank() ? ShardSet.of() : ShardSet.parse(text);
        shards.stream()
                .filter(shard -> shard >= sharding.shardCount())
                .findFirst()
                .ifPresent(shard -> {
                    throw new IllegalArgumentException("%s of %s names shard %s, which is out of range 0..%s"
                            .formatted(property, node.name(), shard, sharding.shardCount() - 1));
                });
        return shards;
    }
}
