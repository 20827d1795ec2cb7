/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.installation;

import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Threads that write to shards chosen at random, until this is closed. */
public final class Writers implements AutoCloseable {

    private final int shards;
    private final int restMillis;
    private final Write write;
    private final ExecutorService threads;
    private volatile boolean stopped;

    /** One transaction. Each thread has its own random generator. */
    @FunctionalInterface
    public interface Write {
        void to(int shard, Random random);
    }

    /** Starts threads, each of which rests after a transaction. */
    public Writers(int shards, int threads, int restMillis, Write write) {
        this.shards = shards;
        this.restMillis = restMillis;
        this.write = write;
        this.threads = Executors.newFixedThreadPool(threads);
        for (int i = 0; i < threads; i++) {
            long seed = i;
            this.threads.execute(() -> work(new Random(seed)));
        }
    }

    private void work(Random random) {
        try {
            while (!stopped) {
                write.to(random.nextInt(shards), random);
                TimeUnit.MILLISECONDS.sleep(restMillis);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for the transactions in progress. */
    @Override
    public void close() throws InterruptedException {
        stopped = true;
        threads.shutdown();
        if (!threads.awaitTermination(1, TimeUnit.MINUTES)) {
            throw new IllegalStateException("a transaction has taken longer than a minute");
        }
    }
}
