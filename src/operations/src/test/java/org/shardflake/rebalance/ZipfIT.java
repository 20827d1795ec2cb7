/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.load.LoadSample;
import org.shardflake.load.LoadSampler;
import org.shardflake.load.ShardRate;
import org.shardflake.load.ShardSizes;
import org.shardflake.move.AccountShards;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.ParallelMoves;
import org.shardflake.router.ShardRouter;

/** Plans by rate for shards that applications write as Zipf has it, while other shards become the busy ones. */
@Tag("full")
class ZipfIT {

    private static final int SHARDS = 24;
    private static final int SERVERS = 3;
    private static final int WRITERS = 4;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(SERVERS + 1);

    @TempDir
    static Path directory;

    private final AtomicBoolean ends = new AtomicBoolean();
    private final AtomicLong written = new AtomicLong();
    private volatile List<Integer> busiest = List.of();
    private AccountShards shards;
    private LoadSampler sampler;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, SERVERS, SHARDS, directory);
        sampler = new LoadSampler(server -> shards.url(server.name()));
    }

    @Test
    void theServersAreEvenlyLoadedAgainAfterEachChangeOfTheLoad() throws Exception {
        busiest = shuffled(0);
        try (ShardRouter router =
                ShardRouter.builder().catalog(shards.catalogUrl()).build()) {
            List<CompletableFuture<Void>> writers = IntStream.range(0, WRITERS)
                    .mapToObj(i -> CompletableFuture.runAsync(() -> Sql.translating(() -> keepWriting(router))))
                    .toList();
            for (int load = 0; load < 3; load++) {
                busiest = shuffled(load);
                balance();
            }
            ends.set(true);
            writers.forEach(CompletableFuture::join); // none has failed
        }
        assertThat(rows()).isEqualTo(written.get());
    }

    private static List<Integer> shuffled(int seed) {
        List<Integer> all = new ArrayList<>(IntStream.range(0, SHARDS).boxed().toList());
        Collections.shuffle(all, new Random(seed));
        return all;
    }

    private void keepWriting(ShardRouter router) throws SQLException {
        double[] sums = new double[SHARDS];
        for (int i = 0; i < SHARDS; i++) {
            sums[i] = (i == 0 ? 0 : sums[i - 1]) + 1.0 / (i + 1);
        }
        while (!ends.get()) {
            double drawn = ThreadLocalRandom.current().nextDouble() * sums[SHARDS - 1];
            int rank = (int)
                    IntStream.range(0, SHARDS - 1).filter(i -> sums[i] < drawn).count();
            long uid = busiest.get(rank);
            router.<Integer, SQLException>write(
                    uid,
                    tx -> Sql.update(
                            tx.connection(), "INSERT INTO %s.account (uid) VALUES (?)".formatted(tx.schema()), uid));
            written.incrementAndGet();
        }
    }

    /** Plans and moves until there is nothing left to do. */
    private void balance() throws Exception {
        Set<Integer> moved = new TreeSet<>();
        for (int round = 0; round < 5; round++) {
            ShardMap map = shards.catalog().load();
            Map<Integer, ShardRate> rates = measure(map);
            ShardSizes sizes = ShardSizes.read(map, server -> shards.url(server.name()));
            RebalancePlan plan = RebalancePlanner.plan(
                    map,
                    new ShardLoads(
                            sizes::bytes,
                            shard -> rates.getOrDefault(shard, ShardRate.NONE).written()),
                    RebalanceSettings.by(RebalanceBy.RATE).resting(ShardSet.of(moved)));
            if (plan.moves().isEmpty()) {
                requireEven(map, rates);
                return;
            }
            for (RebalancePlan.Move move : plan.moves()) {
                move.shards().stream()
                        .forEach(shard -> assertThat(moved.add(shard))
                                .as("shard %d moves once", shard)
                                .isTrue());
            }
            new PlanRun(plan, shards.catalog())
                    .run(new ParallelMoves(shards.mover(MoveSettings.DEFAULT, MoveListener.NONE), "a test"));
        }
        throw new AssertionError("it does not come to rest");
    }

    private Map<Integer, ShardRate> measure(ShardMap map) throws InterruptedException {
        Thread.sleep(1500); // What sessions did before is reported by then.
        LoadSample before = sampler.sample(map);
        Thread.sleep(5000);
        return sampler.sample(map).since(before);
    }

    private static void requireEven(ShardMap map, Map<Integer, ShardRate> rates) {
        double total = rates.values().stream().mapToDouble(ShardRate::written).sum();
        double heaviest =
                rates.values().stream().mapToDouble(ShardRate::written).max().orElseThrow();
        double best = Math.max(total / SERVERS, heaviest);
        double most = map.servers().stream()
                .mapToDouble(server -> map.shards(server).stream()
                        .mapToDouble(shard ->
                                rates.getOrDefault(shard, ShardRate.NONE).written())
                        .sum())
                .max()
                .orElseThrow();
        System.out.printf("most loaded server: %.0f rows/s, at best %.0f, %.2f%n", most, best, most / best);
        assertThat(total).isPositive();
        assertThat(most).isLessThanOrEqualTo(1.25 * best);
    }

    private long rows() throws SQLException {
        ShardMap map = shards.catalog().load();
        long rows = 0;
        for (int shard = 0; shard < SHARDS; shard++) {
            try (Connection connection =
                    shards.database(map.server(shard).name()).connect()) {
                rows += Sql.number(connection, "SELECT count(*) FROM shard_%04d.account".formatted(shard));
            }
        }
        return rows;
    }
}
