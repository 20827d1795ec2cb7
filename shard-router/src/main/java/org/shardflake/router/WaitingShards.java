/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;

/**
 * The shards that a read over many shards has still to read. The next one is on the server where the fewest are being read, so all servers have
 * work, and one that does not answer ties up only its share of the readers. Thread-safe.
 */
final class WaitingShards {

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, OfServer> servers = new LinkedHashMap<>();
    private final Set<Integer> all = new TreeSet<>();

    private static final class OfServer {
        private final Queue<Integer> waiting = new ArrayDeque<>();
        private int reading;
        private long turn;
    }

    /** A shard that is being read. */
    record Taken(int shard, String server) {}

    private long turns;

    WaitingShards(ShardMap map, @Nullable ShardSet shards) {
        IntStream some = shards == null ? IntStream.range(0, map.sharding().shardCount()) : shards.stream();
        some.forEach(shard -> {
            servers.computeIfAbsent(map.server(shard).name(), server -> new OfServer())
                    .waiting
                    .add(shard);
            all.add(shard);
        });
    }

    /** All shards, including those taken. */
    Set<Integer> all() {
        return new TreeSet<>(all);
    }

    /** The next shard, or null if none is left. */
    @Nullable
    Taken take() {
        lock.lock();
        try {
            return servers.entrySet().stream()
                    .filter(server -> !server.getValue().waiting.isEmpty())
                    .min(Comparator.comparingInt((Map.Entry<String, OfServer> server) -> server.getValue().reading)
                            .thenComparingLong(server -> server.getValue().turn))
                    .map(server -> take(server.getKey(), server.getValue()))
                    .orElse(null);
        } finally {
            lock.unlock();
        }
    }

    private Taken take(String name, OfServer server) {
        server.reading++;
        server.turn = ++turns;
        return new Taken(server.waiting.remove(), name);
    }

    void done(Taken taken) {
        lock.lock();
        try {
            OfServer server = servers.get(taken.server());
            if (server != null) {
                server.reading--;
            }
        } finally {
            lock.unlock();
        }
    }
}
