/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static java.util.Comparator.comparingDouble;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.rebalance.RebalancePlanner.Route;

/**
 * Chooses the shards to move where the load differs from the cost of a move: by rate, or by rate and bytes. A pure function.
 *
 * <p>Step by step, the most loaded server gives the shard whose move gains most. The gain is what the sum of capacity * utilisation² falls
 * by, over all servers and measures, less the price of the bytes copied. As in {@link RebalancePlanner}, a server gives or
 * receives, never both; so a move gains less the more others come before it, and what still gains after all others gains in any order and
 * whatever is left out. Since the sum only falls, a plan cannot undo the last one while the load stays what it was; and so that it does not
 * because a rate was measured a little differently, a move has to earn its price, servers near the mean are left alone, and a shard that moved recently
 * stays unless its server is far from it.
 */
final class RatePlanner {

    /**
     * The gain that must justify copying as many bytes as a server has on average. To swap 20 % of the load of two servers, of which one is 20
     * % above the mean and the other 20 % below, gains 0.08.
     */
    private static final double PRICE = 0.05;

    /** The price of a move itself: a pause of writes and a change of the map. */
    private static final double PRICE_OF_A_MOVE = 0.0002;

    /** The move of one shard. */
    private record Step(MeasuredServer from, MeasuredServer to, int shard) {}

    private final ShardLoads loads;
    private final RebalanceSettings settings;
    private final int measures;
    private final double meanBytes;
    private final Map<String, MeasuredServer> servers;
    private final Set<MeasuredServer> gave = new HashSet<>();
    private final Set<MeasuredServer> received = new HashSet<>();
    private final List<Step> steps = new ArrayList<>();

    RatePlanner(ShardMap map, ShardLoads loads, List<Measure> measures, RebalanceSettings settings) {
        this.loads = loads;
        this.settings = settings;
        this.measures = measures.size();
        this.servers = MeasuredServer.all(map, measures);
        this.meanBytes = IntStream.range(0, map.sharding().shardCount())
                        .mapToDouble(shard -> loads.bytes().applyAsLong(shard))
                        .sum()
                / map.servers().size();
    }

    /** The shards of each route, in the order in which the routes were first used. */
    Map<Route, List<Integer>> movesByRoute() {
        for (Step step = next(); step != null && steps.size() < settings.maxMoves(); step = next()) {
            make(step);
            steps.add(step);
        }
        prune();
        Map<Route, List<Integer>> routes = new LinkedHashMap<>();
        for (Step step : steps) {
            routes.computeIfAbsent(new Route(step.from().name, step.to().name), route -> new ArrayList<>())
                    .add(step.shard());
        }
        return routes;
    }

    private void make(Step step) {
        step.from().give(step.shard(), step.to());
        gave.add(step.from());
        received.add(step.to());
    }

    /** The best move of the most loaded server that has one, preferably a move that does not overload its target. */
    private @Nullable Step next() {
        List<MeasuredServer> sources = servers.values().stream()
                .filter(server -> !received.contains(server))
                .sorted(comparingDouble((MeasuredServer server) -> server.utilisation())
                        .reversed()
                        .thenComparing(server -> server.name))
                .toList();
        for (double most : new double[] {1 + threshold(), Double.MAX_VALUE}) {
            for (MeasuredServer from : sources) {
                Step best = best(from, most);
                if (best != null) {
                    return best;
                }
            }
        }
        return null;
    }

    /** The best move from a server that keeps its target's load within a limit. */
    private @Nullable Step best(MeasuredServer from, double limit) {
        Step best = null;
        double most = 0;
        for (MeasuredServer to : servers.values()) {
            if (to == from || gave.contains(to) || settings.excluded().contains(to.name) || !areApart(from, to)) {
                continue;
            }
            for (int shard : from.shards()) {
                double gain = mayMove(shard, from) ? from.gain(shard, to) - price(shard) : 0;
                if (gain > most && to.utilisationWith(shard) <= limit) {
                    most = gain;
                    best = new Step(from, to, shard);
                }
            }
        }
        return best;
    }

    /**
     * Whether two servers are apart enough for a move: one is beyond the threshold by some measure, or their distance is as large as that. Once
     * there is a move, half of the threshold counts: a server that was brought just within it would be beyond it again soon.
     */
    private boolean areApart(MeasuredServer from, MeasuredServer to) {
        double threshold = steps.isEmpty() ? threshold() : threshold() / 2;
        for (int i = 0; i < measures; i++) {
            double more = from.utilisation(i);
            double less = to.utilisation(i);
            boolean isBeyond = more > 1 + threshold || less < 1 - threshold;
            if ((more - less > 2 * threshold) || (isBeyond && more > 1 && less < 1)) {
                return true;
            }
        }
        return false;
    }

    private double threshold() {
        return settings.threshold() / 100.0;
    }

    private boolean mayMove(int shard, MeasuredServer from) {
        if (settings.pinned().contains(shard)) {
            return false;
        }
        return !settings.recent().contains(shard) || from.utilisation() > 1 + 2 * threshold();
    }

    private double price(int shard) {
        double bytes = meanBytes == 0 ? 0 : loads.bytes().applyAsLong(shard) / meanBytes;
        return PRICE * bytes + PRICE_OF_A_MOVE;
    }

    /** Removes moves that are no longer worth their price given all the others, starting with the last. */
    private void prune() {
        for (int i = steps.size() - 1; i >= 0; i--) {
            Step step = steps.get(i);
            step.to().give(step.shard(), step.from());
            if (step.from().gain(step.shard(), step.to()) > price(step.shard())) {
                step.from().give(step.shard(), step.to());
            } else {
                steps.remove(i);
            }
        }
    }
}
