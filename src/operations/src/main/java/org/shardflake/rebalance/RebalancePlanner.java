/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static java.util.Comparator.comparing;
import static java.util.Comparator.comparingDouble;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.rebalance.ServerLoad.Shard;

/**
 * Chooses the shards to move. A pure function: the same input gives the same plan.
 *
 * <p>Drained servers are emptied, heavier shards first, each shard onto the server that is then the least loaded; no other shard
 * moves. With none to drain, as long as a server is outside the threshold, a shard goes from the most loaded server to the least
 * loaded one: the heaviest that makes neither cross the mean, or else the lightest that is still worth moving.
 *
 * <p>Why any part of the plan is an improvement: let the imbalance be the sum of weight² / capacity over the servers. A server is a
 * source or a target, never both, so a move gains less the more others come before it: they leave less on its source, or more on its
 * target. A move that still gains after all others therefore gains in any order and whatever is left out. Moves that do not are
 * removed from the plan.
 */
public final class RebalancePlanner {

    private static final Comparator<ServerLoad> LEAST_LOADED =
            comparingDouble(ServerLoad::utilisation).thenComparing(server -> server.name);
    private static final Comparator<ServerLoad> MOST_LOADED =
            comparingDouble(ServerLoad::utilisation).reversed().thenComparing(server -> server.name);

    /** The move of one shard. */
    private record Step(ServerLoad from, ServerLoad to, Shard shard) {}

    private final ShardMap map;
    private final RebalanceSettings settings;
    private final IntToLongFunction weightOf;
    private final Map<String, ServerLoad> servers = new TreeMap<>();
    private final List<Step> steps = new ArrayList<>();

    private RebalancePlanner(ShardMap map, IntToLongFunction weightOf, RebalanceSettings settings) {
        this.map = map;
        this.settings = settings;
        this.weightOf = weightOf;
    }

    /** Makes a plan by bytes or by count, from the bytes of each shard, which a plan by count does not read. */
    public static RebalancePlan plan(ShardMap map, IntToLongFunction bytes, RebalanceSettings settings) {
        return plan(map, ShardLoads.ofBytes(bytes), settings);
    }

    /**
     * Makes a plan.
     *
     * @param loads what the shards weigh
     * @throws org.shardflake.UnknownServerException if a drained or excluded server is not in the map
     * @throws org.shardflake.ShardOutOfRangeException if a pinned shard is not in the map
     * @throws IllegalArgumentException if a shard is pinned to a drained server, or no server can take a drained server's shards
     * @throws RebalanceRefusedException if a server's weight is not a number
     */
    public static RebalancePlan plan(ShardMap map, ShardLoads loads, RebalanceSettings settings) {
        requireKnown(map, settings);
        List<Measure> measures = Measure.of(map, loads, settings);
        if (settings.by().isByRate() && settings.drained().isEmpty()) {
            RatePlanner planner = new RatePlanner(map, loads, measures, settings);
            return new PlanBuilder(map, loads, measures, settings).build(planner.movesByRoute());
        }
        if (settings.by().isByRate()) {
            RebalancePlanner planner = new RebalancePlanner(map, shard -> share(shard, measures), settings);
            planner.choose();
            return new PlanBuilder(map, loads, measures, settings).build(planner.movesByRoute());
        }
        Measure only = measures.get(0);
        RebalancePlanner planner =
                new RebalancePlanner(map, shard -> (long) only.of().applyAsDouble(shard), settings);
        List<Measure> possible = List.of(only.withMean(planner.choose()));
        return new PlanBuilder(map, loads, possible, settings).build(planner.movesByRoute());
    }

    /** Refuses servers and shards that are not in the map, as {@link #plan} does, before their loads are measured. */
    static void requireKnown(ShardMap map, RebalanceSettings settings) {
        settings.drained().forEach(map::server);
        settings.excluded().forEach(map::server);
        settings.pinned().stream().forEach(map::server);
    }

    /** The load of a shard over all measures, in billionths of a server's mean load. */
    private static long share(int shard, List<Measure> measures) {
        return Math.round(measures.stream()
                .filter(measure -> measure.mean() > 0)
                .mapToDouble(measure -> 1e9 * measure.of().applyAsDouble(shard) / measure.mean())
                .sum());
    }

    /** Chooses moves; returns the mean that they aim for. */
    private double choose() {
        load();
        double mean = mean();
        if (settings.drained().isEmpty()) {
            balance(mean);
        } else {
            drain();
        }
        prune();
        return mean;
    }

    private void load() {
        for (Server server : map.servers()) {
            servers.put(
                    server.name(),
                    new ServerLoad(
                            server,
                            settings.drained().contains(server.name()),
                            settings.excluded().contains(server.name())));
        }
        for (int shard = 0; shard < map.sharding().shardCount(); shard++) {
            ServerLoad server = server(map.server(shard).name());
            boolean pinned = settings.pinned().contains(shard);
            if (pinned && server.drained) {
                throw new IllegalArgumentException("shard %s is pinned, but its server %s is to be drained; choose one"
                        .formatted(shard, server.name));
            }
            server.add(new Shard(shard, weightOf.applyAsLong(shard)), pinned);
        }
    }

    private ServerLoad server(String name) {
        ServerLoad server = servers.get(name);
        if (server == null) {
            throw new IllegalStateException("no server " + name);
        }
        return server;
    }

    /**
     * The utilisation that all servers would have if shards were divisible. Pinned shards keep a server above it, and exclusion keeps one
     * below; then it is the mean of the others.
     */
    private double mean() {
        double total = servers.values().stream().mapToDouble(ServerLoad::weight).sum();
        double low = 0;
        double high = total
                / servers.values().stream()
                        .mapToDouble(server -> server.capacity)
                        .min()
                        .orElse(1);
        while (true) {
            double middle = (low + high) / 2;
            if (middle <= low || middle >= high) {
                return exact(middle, total);
            }
            if (servers.values().stream()
                            .mapToDouble(server -> server.within(middle))
                            .sum()
                    < total) {
                low = middle;
            } else {
                high = middle;
            }
        }
    }

    /** The mean, corrected for the rounding error that the search leaves. */
    private double exact(double mean, double total) {
        double free = total;
        double capacity = 0;
        for (ServerLoad server : servers.values()) {
            double wanted = mean * server.capacity;
            double possible = server.within(mean);
            if (possible == wanted) {
                capacity += server.capacity;
            } else {
                free -= possible;
            }
        }
        return capacity == 0 ? mean : free / capacity;
    }

    private void drain() {
        List<Step> leaving = new ArrayList<>();
        for (ServerLoad server : servers.values()) {
            if (server.drained) {
                server.movable().forEach(shard -> leaving.add(new Step(server, server, shard)));
            }
        }
        leaving.sort(comparing(Step::shard, Shard.HEAVIEST));
        for (Step step : leaving.subList(0, Math.min(leaving.size(), settings.maxMoves()))) {
            long weight = step.shard().weight();
            ServerLoad target = servers.values().stream()
                    .filter(ServerLoad::mayReceive)
                    .min(comparingDouble((ServerLoad server) -> server.utilisationWith(weight))
                            .thenComparingDouble(server -> server.shards() / server.capacity)
                            .thenComparing(server -> server.name))
                    .orElseThrow(() -> new IllegalArgumentException(
                            "no server is left to take the shards of %s; drain or exclude fewer of %s, or add one"
                                    .formatted(step.from().name, String.join(", ", servers.keySet()))));
            make(new Step(step.from(), target, step.shard()));
        }
    }

    private void balance(double mean) {
        while (steps.size() < settings.maxMoves()) {
            Step step = next(mean);
            if (step == null) {
                return;
            }
            make(step);
        }
    }

    private void make(Step step) {
        step.from().give(step.shard(), step.to());
        steps.add(step);
    }

    private @Nullable Step next(double mean) {
        double upper = mean * (100 + settings.threshold()) / 100;
        double lower = mean * (100 - settings.threshold()) / 100;
        List<ServerLoad> sources =
                sorted(MOST_LOADED).filter(ServerLoad::mayGive).toList();
        List<ServerLoad> targets =
                sorted(LEAST_LOADED).filter(ServerLoad::mayReceive).toList();
        for (ServerLoad from : sources) {
            for (ServerLoad to : targets) {
                boolean bothWithin = from.utilisation() <= upper && to.utilisation() >= lower;
                if (bothWithin || from.utilisation() <= mean || to.utilisation() >= mean) {
                    break;
                }
                Shard shard = choose(from, to, mean);
                if (shard != null) {
                    return new Step(from, to, shard);
                }
            }
        }
        return null;
    }

    private Stream<ServerLoad> sorted(Comparator<ServerLoad> order) {
        return servers.values().stream().sorted(order);
    }

    private @Nullable Shard choose(ServerLoad from, ServerLoad to, double mean) {
        double excess = from.weight() - mean * from.capacity;
        double room = mean * to.capacity - to.weight();
        double wanted = Math.min(excess, room);
        Shard fitting = from.heaviest(wanted);
        if (fitting != null && isWorth(from, to, fitting)) {
            return fitting;
        }
        Shard above = from.lightestAbove(wanted);
        return above != null && isWorth(from, to, above) ? above : null;
    }

    /**
     * Whether a move is worthwhile, as in Citus: if the target stays no more loaded than the source, otherwise only for a gain that justifies
     * the copying.
     */
    private boolean isWorth(ServerLoad from, ServerLoad to, Shard shard) {
        long weight = shard.weight();
        if (weight <= 0) {
            return false;
        }
        double target = to.utilisationWith(weight);
        if (target <= from.utilisationWith(-weight)) {
            return true;
        }
        double gain = from.utilisation() - target;
        double added = target - to.utilisation();
        return gain > 0
                && gain >= added * settings.improvement() / 100
                && wins(from.weight(), from.capacity, to.weight(), to.capacity, weight);
    }

    /** Whether moving a weight between two servers decreases the sum of weight² / capacity. */
    private static boolean wins(long from, double fromCapacity, long to, double toCapacity, long weight) {
        return (from - weight / 2.0) / fromCapacity > (to + weight / 2.0) / toCapacity;
    }

    /** Removes moves that gain nothing given all the others, starting with the last. */
    private void prune() {
        for (int i = steps.size() - 1; i >= 0; i--) {
            Step step = steps.get(i);
            long weight = step.shard().weight();
            if (step.from().drained
                    || wins(
                            step.from().weight() + weight,
                            step.from().capacity,
                            step.to().weight() - weight,
                            step.to().capacity,
                            weight)) {
                continue;
            }
            step.from().takeBack(step.shard(), step.to());
            steps.remove(i);
        }
    }

    /** The shards of each route, in the order in which the routes were first used. */
    private Map<Route, List<Integer>> movesByRoute() {
        Map<Route, List<Integer>> routes = new LinkedHashMap<>();
        steps.forEach(step -> routes.computeIfAbsent(route(step), route -> new ArrayList<>()));
        interchange(routes);
        return routes;
    }

    /** Distributes interchangeable shards, those on one server with the same weight, so that ranges stay together. */
    private void interchange(Map<Route, List<Integer>> routes) {
        Map<String, Map<Long, List<Step>>> alike = new LinkedHashMap<>();
        for (Step step : steps) {
            alike.computeIfAbsent(step.from().name, from -> new LinkedHashMap<>())
                    .computeIfAbsent(step.shard().weight(), weight -> new ArrayList<>())
                    .add(step);
        }
        for (Map<Long, List<Step>> byWeight : alike.values()) {
            for (List<Step> same : byWeight.values()) {
                List<Integer> shards = same.stream()
                        .map(step -> step.shard().number())
                        .sorted()
                        .toList();
                List<Route> targets = same.stream()
                        .map(RebalancePlanner::route)
                        .sorted(comparing(Route::to))
                        .toList();
                for (int i = 0; i < same.size(); i++) {
                    routes.computeIfAbsent(targets.get(i), route -> new ArrayList<>())
                            .add(shards.get(i));
                }
            }
        }
    }

    private static Route route(Step step) {
        return new Route(step.from().name, step.to().name);
    }

    /** A pair of source and target. */
    record Route(String from, String to) {}
}
