/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.growth;

import java.lang.management.ManagementFactory;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntSupplier;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;

/** Transactions that select a row of a random table of a random shard, on a router of their own. */
final class ShardLoad {

    private static final long NANOS = 1_000_000_000;
    private static final long MILLIS_BETWEEN_COUNTS = 1000;

    private final ShardServer server;
    private final int poolSize;

    ShardLoad(ShardServer server, int poolSize) {
        this.server = server;
        this.poolSize = poolSize;
    }

    /**
     * What was measured.
     *
     * @param perSecond transactions
     * @param p99 of a transaction, in milliseconds
     * @param client the processor time of a transaction in this process, in µs
     * @param backends the same in the server
     * @param largest private memory of a backend, in MB
     */
    record Figures(double perSecond, double p99, double client, double backends, double largest) {

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
            return Math.floorMod((found < 0 ? -found - 1 : found) * 7919, shards);
        };
    }

    /** Runs it for some seconds, and measures after the first ones. */
    Figures run(IntSupplier shards, int threads, int warmUpSeconds, int seconds, boolean counts) throws Exception {
        ShardMap map = server.map();
        try (ShardRouter router = ShardRouter.builder()
                .map(map)
                .credentials(server.user(), server.password())
                .poolSize(poolSize)
                .build()) {
            Backends backends = new Backends(server.observer());
            long start = System.nanoTime();
            long from = start + warmUpSeconds * NANOS;
            long end = from + seconds * NANOS;
            List<double[]> latencies = Sessions.run(threads + 1, (number, together) -> {
                together.await();
                return number == threads
                        ? watch(router, backends, from, end, counts)
                        : transactions(router, shards, from, end);
            });
            double[] measured = latencies.stream()
                    .filter(some -> some.length != 3)
                    .flatMapToDouble(Arrays::stream)
                    .sorted()
                    .toArray();
            double[] watched = latencies.stream()
                    .filter(some -> some.length == 3)
                    .findFirst()
                    .orElseThrow();
            return new Figures(
                    measured.length / (double) seconds,
                    measured[(int) (measured.length * 0.99)],
                    watched[0] * 1000 / measured.length,
                    watched[1] * 1000 / measured.length,
                    watched[2]);
        }
    }

    private static double[] transactions(ShardRouter router, IntSupplier shards, long from, long end) throws Exception {
        double[] millis = new double[1024];
        int count = 0;
        while (true) {
            long start = System.nanoTime();
            if (start >= end) {
                return Arrays.copyOf(millis, count == 3 ? 2 : count);
            }
            select(router, shards.getAsInt());
            if (start >= from) {
                if (count == millis.length) {
                    millis = Arrays.copyOf(millis, count * 2);
                }
                millis[count++] = (System.nanoTime() - start) / 1e6;
            }
        }
    }

    private static void select(ShardRouter router, int shard) throws Exception {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        int table = random.nextInt(ShardServer.TABLES);
        router.write(ShardKey.shard(shard), tx -> {
            try (PreparedStatement select = tx.connection()
                    .prepareStatement(tx.sql("SELECT title FROM ${shard.schema}.t%d WHERE id = ?".formatted(table)))) {
                select.setLong(1, 1 + random.nextInt(ShardServer.ROWS));
                try (ResultSet row = select.executeQuery()) {
                    if (!row.next()) {
                        throw new IllegalStateException("a row is missing in shard " + shard);
                    }
                    return row.getString(1);
                }
            }
        });
    }

    /** Processor times of client and server, and memory, perhaps with counts over all shards of one table after the other. */
    private static double[] watch(ShardRouter router, Backends backends, long from, long end, boolean counts)
            throws Exception {
        int table = 0;
        while (System.nanoTime() < from) {
            if (counts) {
                count(router, table++);
            }
            Thread.sleep(Math.max(0, Math.min(MILLIS_BETWEEN_COUNTS, (from - System.nanoTime()) / 1_000_000)));
        }
        backends.processorMillis();
        double client = processMillis();
        double largest = 0;
        while (System.nanoTime() < end) {
            if (counts) {
                count(router, table++);
            }
            largest = Math.max(largest, backends.largest());
            Thread.sleep(Math.max(0, Math.min(MILLIS_BETWEEN_COUNTS, (end - System.nanoTime()) / 1_000_000)));
        }
        return new double[] {processMillis() - client, backends.processorMillis(), largest};
    }

    private static void count(ShardRouter router, int table) {
        router.count(ShardQuery.of(
                "SELECT id FROM ${shard.schema}.t%d".formatted(table % ShardServer.TABLES), row -> row.getLong(1)));
    }

    private static double processMillis() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                        .getProcessCpuTime()
                / 1e6;
    }
}
