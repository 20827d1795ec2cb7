/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Threads that write transactions of several statements to all shards, until it is closed. */
final class Load implements AutoCloseable {

    private final Writes writes;
    private final int shards;
    private final int restMillis;
    private final ExecutorService threads;
    private volatile boolean stopped;

    /** Starts threads, each of which rests after a transaction. */
    Load(Writes writes, int shards, int threads, int restMillis) {
        this.writes = writes;
        this.shards = shards;
        this.restMillis = restMillis;
        this.threads = Executors.newFixedThreadPool(threads);
        for (int i = 0; i < threads; i++) {
            long seed = i;
            this.threads.execute(() -> write(new Random(seed)));
        }
    }

    private void write(Random random) {
        try {
            while (!stopped) {
                writes.insertAndChange(random.nextInt(shards));
                TimeUnit.MILLISECONDS.sleep(restMillis);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for the transactions under way. */
    @Override
    public void close() throws InterruptedException {
        stopped = true;
        threads.shutdown();
        if (!threads.awaitTermination(1, TimeUnit.MINUTES)) {
            throw new IllegalStateException("a transaction has taken longer than a minute");
        }
    }
}
