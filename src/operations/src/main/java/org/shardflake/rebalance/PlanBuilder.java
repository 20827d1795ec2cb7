/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToLongFunction;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.rebalance.RebalancePlan.Change;
import org.shardflake.rebalance.RebalancePlan.Move;
import org.shardflake.rebalance.RebalancePlan.ServerChange;
import org.shardflake.rebalance.RebalancePlanner.Route;
import org.shardflake.rebalance.ServerLoad.Shard;

/** Describes the chosen moves in numbers and words. */
final class PlanBuilder {

    private final ShardMap map;
    private final IntToLongFunction weightOf;
    private final RebalanceSettings settings;
    private final double mean;
    private final Map<String, ServerLoad> before;
    private final Map<String, ServerLoad> now;

    PlanBuilder(ShardMap map, IntToLongFunction weightOf, RebalanceSettings settings, double mean) {
        this.map = map;
        this.weightOf = weightOf;
        this.settings = settings;
        this.mean = mean;
        this.before = loads();
        this.now = loads();
    }

    private Map<String, ServerLoad> loads() {
        Map<String, ServerLoad> loads = new HashMap<>();
        map.servers().forEach(server -> loads.put(server.name(), new ServerLoad(server, false, false)));
        for (int shard = 0; shard < map.sharding().shardCount(); shard++) {
            get(loads, map.server(shard).name()).add(shard(shard), false);
        }
        return loads;
    }

    private Shard shard(int number) {
        return new Shard(number, weightOf.applyAsLong(number));
    }

    private static ServerLoad get(Map<String, ServerLoad> loads, String name) {
        ServerLoad load = loads.get(name);
        if (load == null) {
            throw new IllegalStateException("no server " + name);
        }
        return load;
    }

    RebalancePlan build(Map<Route, List<Integer>> shardsByRoute) {
        List<Move> moves = new ArrayList<>();
        shardsByRoute.forEach((route, shards) -> moves.add(move(route, ShardSet.of(shards))));
        List<ServerChange> servers = map.servers().stream().map(this::change).toList();
        return new RebalancePlan(map.version(), settings.by(), settings.threshold(), servers, moves);
    }

    private Move move(Route route, ShardSet shards) {
        ServerLoad from = get(now, route.from());
        ServerLoad to = get(now, route.to());
        long fromBefore = percent(from);
        long toBefore = percent(to);
        shards.stream().forEach(shard -> from.give(shard(shard), to));
        Change fromLoad = new Change(fromBefore, percent(from));
        Change toLoad = new Change(toBefore, percent(to));
        Long bytes = bytes(shards.stream().mapToLong(weightOf).sum());
        return new Move(route.from(), route.to(), shards, bytes, fromLoad, toLoad, reason(route, fromLoad, toLoad));
    }

    private String reason(Route route, Change from, Change to) {
        if (settings.drained().contains(route.from())) {
            return "%s is drained; %s is at %d %% of the mean, then at %d %%"
                    .formatted(route.from(), route.to(), to.before(), to.after());
        }
        return "%s is at %d %% of the mean and %s at %d %%; then at %d %% and %d %%"
                .formatted(route.from(), from.before(), route.to(), to.before(), from.after(), to.after());
    }

    private ServerChange change(Server server) {
        ServerLoad first = get(before, server.name());
        ServerLoad last = get(now, server.name());
        return new ServerChange(
                server.name(),
                new Change(first.shards(), last.shards()),
                settings.by() == RebalanceBy.BYTES ? new Change(first.weight(), last.weight()) : null,
                new Change(percent(first), percent(last)));
    }

    private @Nullable Long bytes(long weight) {
        return settings.by() == RebalanceBy.BYTES ? weight : null;
    }

    private long percent(ServerLoad load) {
        return mean == 0 ? 0 : Math.round(100 * load.utilisation() / mean);
    }
}
