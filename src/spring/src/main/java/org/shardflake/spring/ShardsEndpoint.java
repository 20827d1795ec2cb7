/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardOutOfRangeException;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeId;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.health.MapHealth;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;

/**
 * Shows the map that this application routes by, and where a key is. Reads only what the router has in memory, and shows no URLs, which may
 * have passwords.
 */
@WebEndpoint(id = "shards")
final class ShardsEndpoint {

    private final ShardRouter router;

    ShardsEndpoint(ShardRouter router) {
        this.router = router;
    }

    /** The whole map: {@code /actuator/shards}. */
    @ReadOperation
    Map<String, Object> shards() {
        ShardMap map = router.map();
        MapHealth health = router.mapHealth();
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("version", map.version());
        shown.put("ageSeconds", health.age().toSeconds());
        health.problem().ifPresent(problem -> shown.put("problem", problem));
        shown.put("shards", map.sharding().shardCount());
        Map<String, Object> servers = new LinkedHashMap<>();
        for (Server server : map.servers()) {
            servers.put(
                    server.name(),
                    Map.of(
                            "count", map.shards(server).size(),
                            "shards", map.shards(server).toString()));
        }
        shown.put("servers", servers);
        return shown;
    }

    /** Locates a key: {@code /actuator/shards/uid/42}, {@code .../id/499008090931207168}, {@code .../shard/7}. */
    @ReadOperation
    WebEndpointResponse<Map<String, Object>> locate(@Selector String kind, @Selector String key) {
        try {
            return new WebEndpointResponse<>(located(kind, key));
        } catch (IllegalArgumentException | ShardOutOfRangeException e) {
            return new WebEndpointResponse<>(
                    Map.of("problem", String.valueOf(e.getMessage())), WebEndpointResponse.STATUS_BAD_REQUEST);
        }
    }

    private Map<String, Object> located(String kind, String key) {
        return switch (kind) {
            case "uid" -> shown(kind, key, ShardKey.uid(number(key)));
            case "id" -> {
                ShardflakeId id = ShardflakeId.parse(key);
                Map<String, Object> shown = shown(kind, id.toString(), ShardKey.id(id));
                shown.put("time", id.time(router.map().layout()).toString());
                shown.put("sequence", id.sequence());
                yield shown;
            }
            case "shard" -> shown(kind, key, ShardKey.shard(shard(key)));
            default ->
                throw new IllegalArgumentException("%s is not a kind of key, allowed: uid, id, shard".formatted(kind));
        };
    }

    private static int shard(String key) {
        long shard = number(key);
        if (shard < 0 || shard > IdLayout.MAX_SHARD) {
            throw new IllegalArgumentException("shard %s is out of range 0..%s".formatted(shard, IdLayout.MAX_SHARD));
        }
        return (int) shard;
    }

    private static long number(String key) {
        try {
            return Long.parseLong(key);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("%s is not a whole number of 64 bits".formatted(key), e);
        }
    }

    private Map<String, Object> shown(String kind, String text, ShardKey key) {
        ShardPlacement placement = router.locate(key);
        Map<String, Object> shown = new LinkedHashMap<>();
        if (!kind.equals("shard")) {
            shown.put(kind, text);
        }
        shown.put("shard", placement.shard());
        shown.put("schema", placement.schema());
        shown.put("server", placement.server().name());
        shown.put("epoch", placement.epoch());
        return shown;
    }
}
