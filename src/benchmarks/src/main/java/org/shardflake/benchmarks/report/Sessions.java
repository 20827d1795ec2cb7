/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Several that do the same at once. */
public final class Sessions {

    private Sessions() {}

    /** One of them, counted from 0: may come prepared to {@code start}, which waits for the others. Returns what became of it. */
    @FunctionalInterface
    public interface Session<T> {
        T run(int number, Start start) throws Exception;
    }

    /** The point where they start together. */
    @FunctionalInterface
    public interface Start {
        void await() throws Exception;
    }

    /** Something to do again and again. */
    @FunctionalInterface
    public interface Work {
        void run() throws Exception;
    }

    /** The rate per second at which this many sessions do the work together, over at least this many milliseconds. */
    public static double perSecond(int count, int millis, Work work) throws Exception {
        long start = System.nanoTime();
        long nanos = millis * 1_000_000L;
        List<Long> done = run(count, (number, together) -> {
            long times = 0;
            while (System.nanoTime() - start < nanos) {
                work.run();
                times++;
            }
            return times;
        });
        return done.stream().mapToLong(Long::longValue).sum() * 1e9 / (System.nanoTime() - start);
    }

    /** Runs so many, each on its own thread, and returns what became of them in the order in which they ended. */
    public static <T> List<T> run(int count, Session<T> session) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(count);
        try {
            CyclicBarrier barrier = new CyclicBarrier(count);
            var running = new ExecutorCompletionService<T>(threads);
            for (int i = 0; i < count; i++) {
                int number = i;
                running.submit(() -> session.run(number, barrier::await));
            }
            List<T> results = new ArrayList<>();
            while (results.size() < count) {
                results.add(running.take().get());
            }
            return results;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        } finally {
            threads.shutdownNow(); // also those that wait for one that failed
        }
    }
}
