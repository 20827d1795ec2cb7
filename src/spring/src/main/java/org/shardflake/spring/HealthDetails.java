/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.router.health.RouterHealth;
import org.shardflake.router.health.ServerHealth;

/** Writes the details that Actuator shows. */
final class HealthDetails {

    private HealthDetails() {}

    static String status(RouterHealth health) {
        return health.servers().stream().anyMatch(server -> server.problem().isEmpty()) ? "UP" : "DOWN";
    }

    static Map<String, Object> of(RouterHealth health) {
        Map<String, Object> servers = new LinkedHashMap<>();
        health.servers().forEach(server -> servers.put(server.server(), state(server)));
        return Map.of("servers", servers, "map", map(health));
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
