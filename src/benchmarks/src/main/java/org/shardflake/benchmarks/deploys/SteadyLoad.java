/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.shardflake.ShardKey;
import org.shardflake.router.ShardRouter;

/**
 * A steady rate of transactions through a router. Each selects rows of a random table of a random shard.
 *
 * <p>A transaction's time counts from when it was due, so that a pause is not hidden by the transactions that it kept from beginning.
 */
final class SteadyLoad implements AutoCloseable {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final ShardRouter router;
    private final int shards;
    private final int tables;
    private final long nanosBetween;
    private final long start = System.nanoTime();
    private final AtomicLong begun = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final ExecutorService threads;
    private final List<Future<Times>> running = new ArrayList<>();
    private volatile boolean isOver;

    /** Begins. */
    SteadyLoad(ShardRouter router, int shards, int tables, int perSecond, int threads) {
        this.router = router;
        this.shards = shards;
        this.tables = tables;
        this.nanosBetween = SECOND / perSecond;
        this.threads = Executors.newFixedThreadPool(threads);
        for (int i = 0; i < threads; i++) {
            running.add(this.threads.submit(this::run));
        }
    }

    /** When transactions were due, in nanoseconds, and how long each took from then on. */
    private static final class Times {

        private long[] due = new long[1024];
        private long[] nanos = new long[1024];
        private int count;

        private void add(long dueAt, long took) {
            if (count == due.length) {
                due = Arrays.copyOf(due, 2 * count);
                nanos = Arrays.copyOf(nanos, 2 * count);
            }
            due[count] = dueAt;
            nanos[count++] = took;
        }
    }

    /**
     * What the transactions of a time took.
     *
     * @param perSecond how many ended
     * @param p50 in milliseconds
     * @param p99 in milliseconds
     * @param worst the longest, in milliseconds
     */
    record Figures(double perSecond, double p50, double p99, double worst) {}

    /** Runs every table of every shard so often that PostgreSQL keeps its plans, as fast as it goes. */
    static void warmUp(ShardRouter router, int shards, int tables, int uses, int threads) throws Exception {
        ExecutorService together = Executors.newFixedThreadPool(threads);
        try {
            AtomicLong next = new AtomicLong();
            List<Future<Boolean>> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                all.add(together.submit(() -> {
                    for (long n = next.getAndIncrement();
                            n < (long) shards * tables * uses;
                            n = next.getAndIncrement()) {
                        select(router, (int) (n % shards), (int) (n / shards % tables));
                    }
                    return true;
                }));
            }
            for (Future<Boolean> one : all) {
                one.get();
            }
        } finally {
            together.shutdownNow();
        }
    }

    private Times run() throws Exception {
        Times times = new Times();
        while (true) {
            long due = start + begun.getAndIncrement() * nanosBetween;
            for (long left = due - System.nanoTime(); left > 0 && !isOver; left = due - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            if (isOver) {
                return times;
            }
            ThreadLocalRandom random = ThreadLocalRandom.current();
            try {
                select(router, random.nextInt(shards), random.nextInt(tables));
            } catch (SQLException | RuntimeException e) {
                if (failed.getAndIncrement() == 0) {
                    e.printStackTrace();
                }
            }
            times.add(due, System.nanoTime() - due);
        }
    }

    private static void select(ShardRouter router, int shard, int table) throws SQLException {
        router.write(ShardKey.shard(shard), tx -> {
            try (PreparedStatement select = tx.connection()
                    .prepareStatement(tx.sql("SELECT title FROM ${shard.schema}.t%d WHERE uid = ?".formatted(table)))) {
                select.setLong(1, 7);
                try (ResultSet row = select.executeQuery()) {
                    row.next();
                    return row.getString(1);
                }
            }
        });
    }

    /** Ends, and keeps the times. */
    Ended end() throws InterruptedException, ExecutionException {
        isOver = true;
        List<Times> all = new ArrayList<>();
        for (Future<Times> one : running) {
            all.add(one.get());
        }
        return new Ended(all, failed.get());
    }

    /** The times of a load that is over. */
    static final class Ended {

        private final List<Times> all;
        private final long failed;

        private Ended(List<Times> all, long failed) {
            this.all = all;
            this.failed = failed;
        }

        long count() {
            return all.stream().mapToLong(times -> times.count).sum();
        }

        long failed() {
            return failed;
        }

        /** The times of the transactions that were due from one time to another. */
        Figures between(long from, long to) {
            double[] millis = all.stream()
                    .flatMapToDouble(times -> IntStream.range(0, times.count)
                            .filter(i -> times.due[i] >= from && times.due[i] < to)
                            .mapToDouble(i -> times.nanos[i] / 1e6))
                    .sorted()
                    .toArray();
            return new Figures(
                    millis.length * 1e9 / (to - from),
                    millis[millis.length / 2],
                    millis[(int) (millis.length * 0.99)],
                    millis[millis.length - 1]);
        }
    }

    @Override
    public void close() {
        isOver = true;
        threads.shutdownNow();
    }
}
