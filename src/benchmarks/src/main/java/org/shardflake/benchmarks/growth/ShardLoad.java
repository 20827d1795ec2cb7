/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.growth;

import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeException;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;

/** Transactions that select a row of a random table of a random shard, on a router of their own. */
final class ShardLoad {

    /** The number of rows in each table; their keys are 1 to this number. */
    static final int ROWS = 20;

    private static final long NANOS = 1_000_000_000;
    private static final long MILLIS_BETWEEN_COUNTS = 1000;
    /** How often each table of each shard is read before it is measured: PostgreSQL keeps a plan after the seventh. */
    private static final long USES = 12;

    private final Supplier<ShardRouter> routers;
    private final Connection observer;
    private final int tables;
    private final int warmUpSeconds;
    private final int seconds;

    /**
     * A load on tables {@code t0} and up.
     *
     * @param routers opens a router, which each run closes
     * @param observer a connection to the shards' server that takes no part
     * @param warmUpSeconds before it is measured
     * @param seconds for which it is measured
     */
    ShardLoad(Supplier<ShardRouter> routers, Connection observer, int tables, int warmUpSeconds, int seconds) {
        this.routers = routers;
        this.observer = observer;
        this.tables = tables;
        this.warmUpSeconds = warmUpSeconds;
        this.seconds = seconds;
    }

    /**
     * What was measured.
     *
     * @param perSecond transactions
     * @param p99 of a transaction, in milliseconds
     * @param longest transaction, in milliseconds
     * @param client the processor time of a transaction in this process, in µs
     * @param backends the same in the server
     * @param largest private memory of a backend, in MB
     * @param asked the share of transactions that asked the server whether their shard is open
     * @param failed transactions, which ended with an exception
     */
    record Figures(
            double perSecond,
            double p99,
            double longest,
            double client,
            double backends,
            double largest,
            double asked,
            long failed) {

        double processor() {
            return client + backends;
        }
    }

    /** Shards of which all are as likely. */
    static IntSupplier uniform(int shards) {
        return () -> ThreadLocalRandom.current().nextInt(shards);
    }

    /** Shards by Zipf's law, the most likely of which takes some 13 %. */
    static IntSupplier zipf(int shards) {
        double[] upTo = new double[shards];
        double sum = 0;
        for (int i = 0; i < shards; i++) {
            sum += 1.0 / (i + 1);
            upTo[i] = sum;
        }
        double all = sum;
        return () -> {
            int found = Arrays.binarySearch(upTo, ThreadLocalRandom.current().nextDouble() * all);
            return likely(found < 0 ? -found - 1 : found, shards);
        };
    }

    /** The shard that is the likeliest by Zipf's law (0), the second one (1), and so on. */
    static int likely(int place, int shards) {
        return Math.floorMod(place * 7919, shards);
    }

    /** Measures it for some seconds, in which no transaction may fail. */
    Figures run(IntSupplier shards, int shardsUsed, int threads, boolean counts) throws Exception {
        Figures figures = run(shards, shardsUsed, threads, counts, null);
        if (figures.failed() > 0) {
            throw new IllegalStateException("%d transactions failed".formatted(figures.failed()));
        }
        return figures;
    }

    /** Measures it while this work is done, however long that takes, without the memory of backends. */
    Figures runDuring(Sessions.Work work, IntSupplier shards, int shardsUsed, int threads) throws Exception {
        return run(shards, shardsUsed, threads, false, work);
    }

    private Figures run(IntSupplier shards, int shardsUsed, int threads, boolean counts, Sessions.@Nullable Work work)
            throws Exception {
        try (ShardRouter router = routers.get()) {
            Backends backends = new Backends(observer);
            Window window = new Window(
                    System.nanoTime() + warmUpSeconds * NANOS,
                    USES * shardsUsed * tables,
                    work == null ? seconds * NANOS : Long.MAX_VALUE);
            List<Seen> seen = Sessions.run(threads + 1, (number, together) -> {
                together.await();
                return number == threads
                        ? watch(router, backends, window, counts, work)
                        : transactions(router, shards, window);
            });
            double[] measured =
                    seen.stream().flatMapToDouble(Seen::millis).sorted().toArray();
            Used used = seen.stream()
                    .map(Seen::used)
                    .filter(Objects::nonNull)
                    .findFirst()
                    .orElseThrow();
            return new Figures(
                    measured.length * 1e9 / window.nanos,
                    measured[(int) (measured.length * 0.99)],
                    measured[measured.length - 1],
                    used.client() * 1000 / measured.length,
                    used.backends() * 1000 / measured.length,
                    used.largest(),
                    used.questions() / measured.length,
                    window.failed.sum());
        }
    }

    /**
     * What a thread has seen.
     *
     * @param millis its transactions
     * @param used by all, if it is the thread that watches them
     */
    private record Seen(DoubleStream millis, @Nullable Used used) {}

    /** Processor times in milliseconds, memory in MB, and the number of questions whether a shard is open. */
    private record Used(double client, double backends, double largest, double questions) {}

    /** The time in which it is measured: after some seconds, and some transactions on a machine that is slower. */
    private static final class Window {

        private final long earliest;
        private final long warmUps;
        private final LongAdder done = new LongAdder();
        private final LongAdder failed = new LongAdder();
        private volatile long nanos;
        private volatile long from = Long.MAX_VALUE;

        Window(long earliest, long warmUps, long nanos) {
            this.earliest = earliest;
            this.warmUps = warmUps;
            this.nanos = nanos;
        }

        /** Begins it if it is time. */
        boolean hasBegun() {
            long now = System.nanoTime();
            if (from == Long.MAX_VALUE && now >= earliest && done.sum() >= warmUps) {
                from = now;
            }
            return from != Long.MAX_VALUE;
        }

        boolean isIn(long time) {
            return time >= from;
        }

        boolean isOver(long time) {
            return isIn(time) && time - from >= nanos;
        }

        void end() {
            nanos = System.nanoTime() - from;
        }
    }

    private Seen transactions(ShardRouter router, IntSupplier shards, Window window) throws Exception {
        double[] millis = new double[1024];
        int count = 0;
        while (true) {
            long start = System.nanoTime();
            if (window.isOver(start)) {
                return new Seen(Arrays.stream(millis, 0, count), null);
            }
            try {
                select(router, shards.getAsInt());
            } catch (SQLException | ShardflakeException e) {
                if (!window.isIn(start)) {
                    throw e;
                }
                e.printStackTrace();
                window.failed.increment();
            }
            if (!window.isIn(start)) {
                window.done.increment();
            } else {
                if (count == millis.length) {
                    millis = Arrays.copyOf(millis, count * 2);
                }
                millis[count++] = (System.nanoTime() - start) / 1e6;
            }
        }
    }

    private void select(ShardRouter router, int shard) throws SQLException {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        int table = random.nextInt(tables);
        router.write(ShardKey.shard(shard), tx -> {
            try (PreparedStatement select = tx.connection()
                    .prepareStatement(tx.sql("SELECT title FROM ${shard.schema}.t%d WHERE uid = ?".formatted(table)))) {
                select.setLong(1, 1 + random.nextInt(ROWS));
                try (ResultSet row = select.executeQuery()) {
                    if (!row.next()) {
                        throw new IllegalStateException("a row is missing in shard " + shard);
                    }
                    return row.getString(1);
                }
            }
        });
    }

    /** Processor times of client and server, and memory, perhaps with counts over all shards of one table after the other, or with other work. */
    private Seen watch(
            ShardRouter router, Backends backends, Window window, boolean counts, Sessions.@Nullable Work work)
            throws Exception {
        int table = 0;
        while (!window.hasBegun()) {
            if (counts) {
                count(router, table++);
            }
            Thread.sleep(MILLIS_BETWEEN_COUNTS);
        }
        backends.processorMillis();
        double client = processMillis();
        double questions = backends.questions();
        double ofBackends = 0;
        double largest = 0;
        if (work != null) {
            try {
                work.run();
            } finally {
                window.end();
            }
        }
        while (!window.isOver(System.nanoTime())) {
            if (counts) {
                count(router, table++);
            }
            ofBackends += backends.processorMillis(); // Some may be replaced.
            largest = Math.max(largest, backends.largest());
            Thread.sleep(MILLIS_BETWEEN_COUNTS / 2);
        }
        return new Seen(
                DoubleStream.empty(),
                new Used(
                        processMillis() - client,
                        ofBackends + backends.processorMillis(),
                        largest,
                        backends.questions() - questions));
    }

    private void count(ShardRouter router, int table) {
        router.count(
                ShardQuery.of("SELECT id FROM ${shard.schema}.t%d".formatted(table % tables), row -> row.getLong(1)));
    }

    private static double processMillis() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                        .getProcessCpuTime()
                / 1e6;
    }
}
