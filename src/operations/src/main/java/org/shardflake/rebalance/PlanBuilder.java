/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.rebalance.RebalancePlan.Change;
import org.shardflake.rebalance.RebalancePlan.Move;
import org.shardflake.rebalance.RebalancePlan.ServerChange;
import org.shardflake.rebalance.RebalancePlanner.Route;

/** Describes the chosen moves in numbers and words. */
final class PlanBuilder {

    private final ShardMap map;
    private final ShardLoads loads;
    private final RebalanceSettings settings;
    private final Map<String, MeasuredServer> before;
    private final Map<String, MeasuredServer> now;

    PlanBuilder(ShardMap map, ShardLoads loads, List<Measure> measures, RebalanceSettings settings) {
        this.map = map;
        this.loads = loads;
        this.settings = settings;
        this.before = MeasuredServer.all(map, measures);
        this.now = MeasuredServer.all(map, measures);
    }

    private static MeasuredServer get(Map<String, MeasuredServer> servers, String name) {
        MeasuredServer server = servers.get(name);
        if (server == null) {
            throw new IllegalStateException("no server " + name);
        }
        return server;
    }

    RebalancePlan build(Map<Route, List<Integer>> shardsByRoute) {
        List<Move> moves = new ArrayList<>();
        shardsByRoute.forEach((route, shards) -> moves.add(move(route, ShardSet.of(shards))));
        List<ServerChange> servers = map.servers().stream().map(this::change).toList();
        return new RebalancePlan(map.version(), settings.by(), settings.threshold(), servers, moves);
    }

    private Move move(Route route, ShardSet shards) {
        MeasuredServer from = get(now, route.from());
        MeasuredServer to = get(now, route.to());
        long fromBefore = percent(from);
        long toBefore = percent(to);
        shards.stream().forEach(shard -> from.give(shard, to));
        Change fromLoad = new Change(fromBefore, percent(from));
        Change toLoad = new Change(toBefore, percent(to));
        Long bytes = settings.by().hasBytes() ? bytes(shards.stream().boxed().toList()) : null;
        return new Move(route.from(), route.to(), shards, bytes, fromLoad, toLoad, reason(route, fromLoad, toLoad));
    }

    private String reason(Route route, Change from, Change to) {
        if (settings.drained().contains(route.from())) {
            return "%s is drained; %s is at %s %% of the mean, then at %s %%"
                    .formatted(route.from(), route.to(), to.before(), to.after());
        }
        return "%s is at %s %% of the mean and %s at %s %%; then at %s %% and %s %%"
                .formatted(route.from(), from.before(), route.to(), to.before(), from.after(), to.after());
    }

    private ServerChange change(Server server) {
        MeasuredServer first = get(before, server.name());
        MeasuredServer last = get(now, server.name());
        return new ServerChange(
                server.name(),
                new Change(first.shards().size(), last.shards().size()),
                settings.by().hasBytes() ? new Change(bytes(first.shards()), bytes(last.shards())) : null,
                settings.by().isByRate() ? new Change(rate(first.shards()), rate(last.shards())) : null,
                new Change(percent(first), percent(last)));
    }

    private long bytes(Collection<Integer> shards) {
        return shards.stream().mapToLong(loads.bytes()::applyAsLong).sum();
    }

    private long rate(Collection<Integer> shards) {
        return Math.round(
                shards.stream().mapToDouble(loads.rate()::applyAsDouble).sum());
    }

    private static long percent(MeasuredServer server) {
        return Math.round(100 * server.utilisation());
    }
}
