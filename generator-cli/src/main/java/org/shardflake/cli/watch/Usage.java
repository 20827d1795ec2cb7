/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.watch;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;
import org.shardflake.load.RowCounts;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.ServerSnapshot;

/**
 * The reads and writes between snapshots. Sums go up only: PostgreSQL's counters of a server would go down with each shard that leaves it, and
 * those of a shard with each table that is dropped. Not thread-safe.
 */
final class Usage {

    /** The share of earlier use that is kept at each snapshot, so that shards do not come and go with every pause. */
    private static final double KEPT = 0.9;

    private final Map<String, Map<Integer, RowCounts>> last = new HashMap<>();
    private final Map<String, RowCounts> sums = new HashMap<>();
    private final Map<String, Map<Integer, RowCounts>> shardSums = new HashMap<>();
    private final Map<Integer, Double> heat = new HashMap<>();

    void add(InstallationSnapshot snapshot) {
        heat.replaceAll((shard, earlier) -> earlier * KEPT);
        snapshot.servers().forEach((server, seen) -> add(server, seen, snapshot));
    }

    private void add(String server, ServerSnapshot seen, InstallationSnapshot snapshot) {
        Map<Integer, RowCounts> before = last.get(server);
        Map<Integer, RowCounts> now = new HashMap<>();
        Map<Integer, RowCounts> itsSums = shardSums.computeIfAbsent(server, added -> new HashMap<>());
        seen.shards().forEach((shard, its) -> {
            RowCounts rows = its.load().rows();
            now.put(shard, rows);
            // Nothing is new at the first look. Later, a shard that is new has new tables, which count from zero.
            RowCounts more = before == null
                    ? RowCounts.NONE
                    : rows.since(before.getOrDefault(shard, RowCounts.NONE)).orElse(RowCounts.NONE);
            sums.merge(server, more, RowCounts::plus);
            itsSums.merge(shard, more, RowCounts::plus);
            if (isHome(server, shard, snapshot)) {
                heat.merge(shard, (double) more.written() + more.read(), Double::sum);
            }
        });
        last.put(server, now);
    }

    private static boolean isHome(String server, int shard, InstallationSnapshot snapshot) {
        return shard < snapshot.map().sharding().shardCount()
                && snapshot.map().server(shard).name().equals(server);
    }

    /** The sum over all shards that a server had. */
    RowCounts of(String server) {
        return sums.getOrDefault(server, RowCounts.NONE);
    }

    /** The sum of a shard on a server. */
    RowCounts of(String server, int shard) {
        return shardSums.getOrDefault(server, Map.of()).getOrDefault(shard, RowCounts.NONE);
    }

    /**
     * The shards that were busiest lately and the largest ones, without those of servers that do not answer.
     *
     * @param count how many of each
     */
    SortedSet<Integer> top(InstallationSnapshot snapshot, int count) {
        Map<Integer, Double> sizes = new HashMap<>();
        Map<Integer, Double> uses = new HashMap<>();
        snapshot.servers()
                .forEach((server, seen) -> seen.shards().forEach((shard, its) -> {
                    if (isHome(server, shard, snapshot)) {
                        sizes.put(shard, (double) its.load().bytes());
                        uses.put(shard, heat.getOrDefault(shard, 0.0));
                    }
                }));
        SortedSet<Integer> top = new TreeSet<>();
        most(uses, count, top);
        most(sizes, count, top);
        return top;
    }

    private static void most(Map<Integer, Double> weights, int count, SortedSet<Integer> top) {
        ToDoubleFunction<Map.Entry<Integer, Double>> weight = Map.Entry::getValue;
        weights.entrySet().stream()
                .filter(shard -> shard.getValue() > 0)
                .sorted(Comparator.comparingDouble(weight).reversed().thenComparing(Map.Entry::getKey))
                .limit(count)
                .forEach(shard -> top.add(shard.getKey()));
    }
}
