/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.micrometer;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.shardflake.Server;
import org.shardflake.router.health.PoolStatus;
import org.shardflake.router.health.RouterState;

/** The gauges of a router's map and pools, which come and go with servers. Not thread-safe. */
final class RouterGauges {

    private final MeterRegistry registry;
    private final RouterState router;
    private final Map<String, List<Meter>> byServer = new HashMap<>();

    RouterGauges(MeterRegistry registry, RouterState router) {
        this.registry = registry;
        this.router = router;
        Gauge.builder("shardflake.map.version", router, r -> r.mapHealth().version())
                .description("The version of the shard map in use")
                .register(registry);
        Gauge.builder("shardflake.map.age", router, r -> r.mapHealth().age().toMillis() / 1000.0)
                .description("Time since the catalog last confirmed the map")
                .baseUnit("seconds")
                .register(registry);
        Gauge.builder(
                        "shardflake.catalog.reachable",
                        router,
                        r -> r.mapHealth().problem().isEmpty() ? 1 : 0)
                .description("1 if the catalog can be asked, else 0")
                .register(registry);
    }

    /** Adds gauges for servers that are new in the router's map, and removes those of servers that left it. */
    void followMap() {
        // The router's map, since the announced one may be outdated by now.
        Set<String> servers = router.map().servers().stream().map(Server::name).collect(Collectors.toSet());
        byServer.entrySet().removeIf(entry -> {
            if (servers.contains(entry.getKey())) {
                return false;
            }
            entry.getValue().forEach(registry::remove);
            return true;
        });
        servers.forEach(server -> byServer.computeIfAbsent(server, this::register));
    }

    private List<Meter> register(String server) {
        return List.of(
                connections(server, "active", PoolStatus::active),
                connections(server, "idle", PoolStatus::idle),
                pool("shardflake.pool.waiting", server, PoolStatus::waiting)
                        .description("Threads waiting for a connection")
                        .register(registry));
    }

    private Gauge connections(String server, String state, ToIntFunction<PoolStatus> number) {
        return pool("shardflake.pool.connections", server, number)
                .description("Connections of the pool of a server's primary")
                .tag("state", state)
                .register(registry);
    }

    private Gauge.Builder<RouterState> pool(String meter, String server, ToIntFunction<PoolStatus> number) {
        return Gauge.builder(meter, router, r -> number(r, server, number)).tag("server", server);
    }

    private static double number(RouterState router, String server, ToIntFunction<PoolStatus> number) {
        return router.pools().stream()
                .filter(pool -> pool.server().equals(server))
                .mapToInt(number)
                .findFirst()
                .orElse(0);
    }
}
