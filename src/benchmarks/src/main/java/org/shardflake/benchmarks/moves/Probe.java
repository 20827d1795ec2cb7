/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Writes to one shard, a millisecond after each acknowledgement, and measures the longest time between two of them. */
final class Probe {

    private final Writes writes;
    private final int shard;
    private final Future<Double> longest;
    private final long start = System.nanoTime();
    private volatile boolean stopped;

    /**
     * What writers of a shard noticed.
     *
     * @param longestMillis between two acknowledged writes
     * @param seconds that it was probed
     */
    record Pause(double longestMillis, double seconds) {}

    /** Begins to write in a thread of this executor. */
    Probe(Writes writes, int shard, ExecutorService threads) {
        this.writes = writes;
        this.shard = shard;
        this.longest = threads.submit(this::longestMillis);
    }

    private double longestMillis() throws InterruptedException {
        long longestNanos = 0;
        long writesSeen = 0;
        long last = 0;
        // Two at least: there is no time between fewer.
        while (!stopped || writesSeen < 2) {
            if (writes.insert(shard)) {
                long now = System.nanoTime();
                longestNanos = writesSeen == 0 ? 0 : Math.max(longestNanos, now - last);
                last = now;
                writesSeen++;
            }
            TimeUnit.MILLISECONDS.sleep(1);
        }
        return longestNanos / 1e6;
    }

    /** Waits for the write under way, and tells what was measured. */
    Pause stop() throws InterruptedException {
        stopped = true;
        try {
            double millis = longest.get();
            return new Pause(millis, (System.nanoTime() - start) / 1e9);
        } catch (ExecutionException e) {
            throw new IllegalStateException("shard %d could not be probed".formatted(shard), e);
        }
    }
}
