/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.load.CommitLatency;
import org.shardflake.load.LoadSample;
import org.shardflake.load.LoadSampler;
import org.shardflake.load.ShardSizes;
import org.shardflake.server.ServerUrl;

/**
 * The load measured in a round.
 *
 * @param loads of the whole time
 * @param halves the loads of its first and its second half
 * @param commits by server
 */
record LoadSurvey(ShardMap map, ShardLoads loads, List<ShardLoads> halves, Map<String, CommitLatency> commits) {

    static LoadSurvey take(ShardMap map, Function<Server, ServerUrl> urls, RebalanceBy by, Duration over)
            throws InterruptedException {
        Duration half = over.dividedBy(2);
        if (!by.isByRate()) {
            ShardLoads loads = by == RebalanceBy.COUNT
                    ? ShardLoads.ofBytes(shard -> 0)
                    : ShardLoads.ofBytes(ShardSizes.read(map, urls)::bytes);
            return new LoadSurvey(map, loads, List.of(), CommitLatency.measure(map.servers(), urls, over));
        }
        LoadSampler sampler = new LoadSampler(urls);
        LoadSample first = sampler.sample(map).whole();
        Map<String, CommitLatency> commits = CommitLatency.measure(map.servers(), urls, half);
        LoadSample second = sampler.sample(map).whole();
        Map<String, CommitLatency> others = CommitLatency.measure(map.servers(), urls, half);
        LoadSample third = sampler.sample(map).whole();
        ShardSizes sizes = ShardSizes.read(map, urls);
        return new LoadSurvey(
                map,
                ShardLoads.measured(sizes, third.allSince(first)),
                List.of(
                        ShardLoads.measured(sizes, second.allSince(first)),
                        ShardLoads.measured(sizes, third.allSince(second))),
                both(commits, others));
    }

    private static Map<String, CommitLatency> both(
            Map<String, CommitLatency> commits, Map<String, CommitLatency> others) {
        Map<String, CommitLatency> all = new TreeMap<>(commits);
        others.forEach((server, latency) -> all.merge(server, latency, CommitLatency::and));
        return all;
    }

    /** Whether a move's source had more load than its target in both halves; otherwise the load may be shifting by itself. */
    boolean isLasting(RebalancePlan.Move move, RebalanceSettings settings) {
        return halves.stream().allMatch(half -> {
            Map<String, MeasuredServer> servers = MeasuredServer.all(map, Measure.of(map, half, settings));
            return utilisation(servers, move.from()) > utilisation(servers, move.to());
        });
    }

    private static double utilisation(Map<String, MeasuredServer> servers, String name) {
        MeasuredServer server = servers.get(name);
        if (server == null) {
            throw new IllegalStateException("no server " + name);
        }
        return server.utilisation();
    }
}
