/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.shardflake.ShardMap;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.AccountShards;
import org.shardflake.router.ShardRouter;

/** An application that writes shards as Zipf has it: the second one half as often as the first, the third a third as often. */
final class ZipfLoad implements AutoCloseable {

    /** Between two writes: the servers, and other tests, share the machine. */
    private static final Duration PAUSE = Duration.ofMillis(3);

    private final AccountShards shards;
    private final int count;
    private final ShardRouter router;
    private final List<CompletableFuture<Void>> writers;
    private final AtomicBoolean ends = new AtomicBoolean();
    private final AtomicLong written = new AtomicLong();
    private volatile List<Integer> busiest = List.of();

    /** @param count of the shards; a shard's uid is its number */
    ZipfLoad(AccountShards shards, int count, int writers) {
        this.shards = shards;
        this.count = count;
        change(0);
        this.router = ShardRouter.builder().catalog(shards.catalogUrl()).build();
        this.writers = IntStream.range(0, writers)
                .mapToObj(i -> CompletableFuture.runAsync(() -> Sql.translating(this::keepWriting)))
                .toList();
    }

    /** From now on other shards are the busy ones. */
    void change(int seed) {
        List<Integer> all = new ArrayList<>(IntStream.range(0, count).boxed().toList());
        Collections.shuffle(all, new Random(seed));
        busiest = all;
    }

    private void keepWriting() throws SQLException {
        double[] sums = new double[count];
        for (int i = 0; i < count; i++) {
            sums[i] = (i == 0 ? 0 : sums[i - 1]) + 1.0 / (i + 1);
        }
        while (!ends.get()) {
            double drawn = ThreadLocalRandom.current().nextDouble() * sums[count - 1];
            int rank = (int)
                    IntStream.range(0, count - 1).filter(i -> sums[i] < drawn).count();
            long uid = busiest.get(rank);
            router.<Integer, SQLException>write(
                    uid,
                    tx -> Sql.update(
                            tx.connection(), "INSERT INTO %s.account (uid) VALUES (?)".formatted(tx.schema()), uid));
            written.incrementAndGet();
            LockSupport.parkNanos(PAUSE.toNanos());
        }
    }

    /** How often a shard is written, compared with others. */
    double share(int shard) {
        return 1.0 / (1 + busiest.indexOf(shard));
    }

    /** What the most loaded server has, compared with what no assignment of shards can be better than. */
    static double spread(ShardMap map, IntToDoubleFunction load) {
        int[] all = IntStream.range(0, map.sharding().shardCount()).toArray();
        double total = IntStream.of(all).mapToDouble(load).sum();
        double heaviest = IntStream.of(all).mapToDouble(load).max().orElseThrow();
        double most = map.servers().stream()
                .mapToDouble(
                        server -> map.shards(server).stream().mapToDouble(load).sum())
                .max()
                .orElseThrow();
        double best = Math.max(total / map.servers().size(), heaviest);
        System.out.printf("most loaded server: %.2f, at best %.2f, %.2f%n", most, best, most / best);
        assertThat(total).isPositive();
        return most / best;
    }

    /** Ends, and requires that no writer has failed and all that was written is there. */
    void requireNoErrors() throws SQLException {
        ends.set(true);
        writers.forEach(CompletableFuture::join);
        assertThat(rows()).isEqualTo(written.get());
    }

    private long rows() throws SQLException {
        ShardMap map = shards.catalog().load();
        long rows = 0;
        for (int shard = 0; shard < count; shard++) {
            try (Connection connection =
                    shards.database(map.server(shard).name()).connect()) {
                rows += Sql.number(
                        connection, String.format(Locale.ROOT, "SELECT count(*) FROM shard_%04d.account", shard));
            }
        }
        return rows;
    }

    @Override
    public void close() {
        ends.set(true);
        CompletableFuture.allOf(writers.toArray(CompletableFuture[]::new))
                .exceptionally(failure -> null)
                .join();
        router.close();
    }
}
