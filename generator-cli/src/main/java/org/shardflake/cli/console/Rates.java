/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.shardflake.load.LoadSample;
import org.shardflake.load.ShardCounters;
import org.shardflake.load.ShardRate;
import org.shardflake.watch.InstallationSnapshot;

/** The rates over the latest snapshots. A session reports what it did only now and then, so a few seconds are too short. Not thread-safe. */
final class Rates {

    private static final long WINDOW = Duration.ofSeconds(10).toNanos();

    private final Deque<Taken> samples = new ArrayDeque<>();
    private Map<Integer, ShardRate> shards = Map.of();
    private Map<String, ShardRate> servers = Map.of();

    private record Taken(long nanos, LoadSample sample) {}

    void add(InstallationSnapshot snapshot) {
        long now = System.nanoTime();
        LoadSample sample = sample(snapshot, now);
        // One that is older than the window is kept, unless nobody has looked for long.
        samples.removeIf(taken -> now - taken.nanos() > 3 * WINDOW);
        while (samples.size() > 1 && now - second().nanos() > WINDOW) {
            samples.removeFirst();
        }
        Taken first = samples.peekFirst();
        shards = first == null ? Map.of() : sample.since(first.sample());
        servers = first == null ? Map.of() : sample.byServer(first.sample());
        samples.addLast(new Taken(now, sample));
    }

    private Taken second() {
        return samples.stream().skip(1).findFirst().orElseThrow();
    }

    /** The counters of all shards on the servers where the map has them. */
    static LoadSample sample(InstallationSnapshot snapshot, long now) {
        return new LoadSample(counters(snapshot, now), Map.of());
    }

    private static Map<Integer, ShardCounters> counters(InstallationSnapshot snapshot, long now) {
        Map<Integer, ShardCounters> counters = new HashMap<>();
        snapshot.servers()
                .forEach((server, seen) -> seen.shards().forEach((shard, its) -> {
                    if (isHome(snapshot, server, shard)) {
                        long epoch = snapshot.map().placement(shard).epoch();
                        counters.put(
                                shard,
                                new ShardCounters(server, epoch, now, its.load().rows()));
                    }
                }));
        return counters;
    }

    private static boolean isHome(InstallationSnapshot snapshot, String server, int shard) {
        return shard < snapshot.map().sharding().shardCount()
                && snapshot.map().server(shard).name().equals(server);
    }

    /** The rates of shards, without those whose rate is unknown. */
    Map<Integer, ShardRate> shards() {
        return shards;
    }

    /** The rates of servers, as sums over their shards. */
    Map<String, ShardRate> servers() {
        return servers;
    }
}
