/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.router.RouterHealth;
import org.shardflake.router.ServerHealth;
import org.shardflake.router.ShardRouter;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Every server and the map. Down only if no server answers: one that fails concerns its own shards. */
final class ShardflakeHealthIndicator extends AbstractHealthIndicator {

    private final ShardRouter router;

    ShardflakeHealthIndicator(ShardRouter router) {
        super("the servers could not be asked");
        this.router = router;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        RouterHealth health = router.health();
        Map<String, Object> servers = new LinkedHashMap<>();
        health.servers().forEach(server -> servers.put(server.server(), state(server)));
        boolean oneAnswers =
                health.servers().stream().anyMatch(server -> server.problem().isEmpty());
        builder.status(oneAnswers ? "UP" : "DOWN")
                .withDetail("servers", servers)
                .withDetail("map", map(health));
    }

    private static Map<String, Object> state(ServerHealth server) {
        return server.problem()
                .<Map<String, Object>>map(problem -> Map.of("status", "DOWN", "problem", problem))
                .orElseGet(() ->
                        Map.of("status", "UP", "milliseconds", server.latency().toMillis()));
    }

    private static Map<String, Object> map(RouterHealth health) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("version", health.map().version());
        map.put("ageSeconds", health.map().age().toSeconds());
        health.map().problem().ifPresent(problem -> map.put("problem", problem));
        return map;
    }
}
