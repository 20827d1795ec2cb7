/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** How often a second threads together get something done. */
final class Rates {

    /** What is done over and over. */
    @FunctionalInterface
    interface Work {
        void run() throws Exception;
    }

    private Rates() {}

    static double of(int threads, int millis, Work work) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            long start = System.nanoTime();
            long nanos = millis * 1_000_000L;
            Callable<Long> loop = () -> {
                long done = 0;
                while (System.nanoTime() - start < nanos) {
                    work.run();
                    done++;
                }
                return done;
            };
            List<Future<Long>> running = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                running.add(executor.submit(loop));
            }
            long sum = 0;
            for (Future<Long> one : running) {
                sum += one.get();
            }
            return sum * 1e9 / (System.nanoTime() - start);
        } finally {
            executor.shutdownNow();
        }
    }
}
