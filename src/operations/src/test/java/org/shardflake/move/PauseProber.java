/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Writes to one shard every millisecond, and measures the longest time between two acknowledged writes. */
final class PauseProber implements AutoCloseable {

    private final AccountLoad load;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private final List<Duration> pauses = new ArrayList<>();
    private volatile boolean probing;

    PauseProber(AccountLoad load) {
        this.load = load;
    }

    /** Something that makes the writers of a shard wait. */
    @FunctionalInterface
    interface Work {
        void run() throws Exception;
    }

    /** Probes a shard while something is done with it. */
    void during(int shard, Work work) throws Exception {
        probing = true;
        Future<Duration> longest = thread.submit(() -> probe(shard));
        Thread.sleep(20);
        try {
            work.run();
            Thread.sleep(20);
        } finally {
            probing = false;
            pauses.add(longest.get());
        }
    }

    private Duration probe(int shard) throws Exception {
        long longest = 0;
        load.open(shard);
        long last = System.nanoTime();
        while (probing) {
            Thread.sleep(1);
            load.open(shard);
            long now = System.nanoTime();
            longest = Math.max(longest, now - last);
            last = now;
        }
        return Duration.ofNanos(longest);
    }

    /** In milliseconds: median, 99th percentile, longest. */
    @Override
    public String toString() {
        List<Duration> sorted = pauses.stream().sorted().toList();
        return "write pause over %s cutovers: p50 %s ms, p99 %s ms, max %s ms"
                .formatted(
                        sorted.size(),
                        percentile(sorted, 50).toMillis(),
                        percentile(sorted, 99).toMillis(),
                        percentile(sorted, 100).toMillis());
    }

    private static Duration percentile(List<Duration> sorted, int percent) {
        return sorted.get((int) Math.ceil(sorted.size() * percent / 100.0) - 1);
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
