/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.map;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.load.ShardRate;

/** Shows a shard map as facts and as a table. */
public final class ShardMapView {

    private ShardMapView() {}

    /** The facts about a whole map, with the sizes and loads of each server's shards if requested. */
    public static Map<String, Object> facts(MapPicture picture, boolean sizes, boolean rates) {
        Map<String, Object> facts = facts(picture.map());
        if (sizes) {
            facts.put("bytes", byServer(picture, server -> picture.bytes(server.name())));
        }
        if (rates) {
            facts.put(
                    "rates",
                    byServer(
                            picture,
                            server -> picture.rate(server.name())
                                    .map(RateView::facts)
                                    .orElse(null)));
        }
        return facts;
    }

    private static Map<String, @Nullable Object> byServer(MapPicture picture, Function<Server, @Nullable Object> fact) {
        Map<String, @Nullable Object> facts = new LinkedHashMap<>();
        picture.map().servers().forEach(server -> facts.put(server.name(), fact.apply(server)));
        return facts;
    }

    public static String table(MapPicture picture, boolean sizes, boolean rates) {
        Map<String, Function<Server, String>> columns = new LinkedHashMap<>();
        if (sizes) {
            columns.put("SIZE", server -> Amounts.bytes(picture.bytes(server.name())));
        }
        if (rates) {
            columns.put("WRITTEN/S", rate(picture, ShardRate::written));
            columns.put("READ/S", rate(picture, ShardRate::read));
        }
        return table(picture.map(), columns);
    }

    private static Function<Server, String> rate(MapPicture picture, ToDoubleFunction<ShardRate> which) {
        return server -> picture.rate(server.name())
                .map(rate -> Amounts.rate(which.applyAsDouble(rate)))
                .orElse("-");
    }

    /** The facts about a whole map. */
    public static Map<String, Object> facts(ShardMap map) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("version", map.version());
        facts.put("shardCount", map.sharding().shardCount());
        facts.put("epoch", map.layout().epoch().toString());
        facts.put("epochMillis", map.layout().epochMillis());
        facts.put("servers", servers(map));
        return facts;
    }

    /** The facts about each server of a map, by name. */
    public static List<Map<String, Object>> servers(ShardMap map) {
        return map.servers().stream().map(server -> facts(map, server)).toList();
    }

    private static Map<String, Object> facts(ShardMap map, Server server) {
        ShardSet shards = map.shards(server);
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("name", server.name());
        facts.put("url", server.url());
        server.applicationUrl().ifPresent(url -> facts.put("applicationUrl", url));
        facts.put("labels", server.labels());
        facts.put("shardCount", shards.size());
        facts.put("shards", shards.toString());
        return facts;
    }

    public static String table(ShardMap map) {
        return table(map, Map.of());
    }

    /** The map as a table, with additional columns. */
    private static String table(ShardMap map, Map<String, Function<Server, String>> columns) {
        boolean hasApplicationUrls = hasApplicationUrls(map);
        List<String> headers = new ArrayList<>(List.of("SERVER", "COUNT"));
        headers.addAll(columns.keySet());
        headers.addAll(List.of("SHARDS", "URL"));
        if (hasApplicationUrls) {
            headers.add("APPLICATION URL");
        }
        TableWriter table = new TableWriter(headers.toArray(String[]::new)).mayLeaveOut("APPLICATION URL", "URL");
        for (Server server : map.servers()) {
            ShardSet shards = map.shards(server);
            List<Object> row = new ArrayList<>(List.of(server.name(), shards.size()));
            columns.values().forEach(column -> row.add(column.apply(server)));
            row.addAll(List.of(TableWriter.shorten(shards), server.url()));
            if (hasApplicationUrls) {
                row.add(server.applicationUrl().orElse(""));
            }
            table.row(row.toArray());
        }
        return head(map) + table;
    }

    /** Whether any server has a URL for applications, so that a table needs a column for it. */
    public static boolean hasApplicationUrls(ShardMap map) {
        return map.servers().stream().anyMatch(server -> server.applicationUrl().isPresent());
    }

    private static String head(ShardMap map) {
        return "version %s, %s shards, epoch %s\n\n"
                .formatted(
                        map.version(), map.sharding().shardCount(), map.layout().epoch());
    }
}
