/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.load.LoadSample;
import org.shardflake.load.LoadSampler;
import org.shardflake.load.ShardRate;
import org.shardflake.load.ShardSizes;
import org.shardflake.move.AccountShards;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.parallel.ParallelMoves;

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

    private AccountShards shards;
    private LoadSampler sampler;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, SERVERS, SHARDS, directory);
        sampler = new LoadSampler(server -> shards.url(server.name()));
    }

    @Test
    void theServersAreEvenlyLoadedAgainAfterEachChangeOfTheLoad() throws Exception {
        try (ZipfLoad load = new ZipfLoad(shards, SHARDS, WRITERS)) {
            for (int change = 0; change < 3; change++) {
                load.change(change);
                balance();
            }
            load.requireNoErrors();
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
                assertThat(ZipfLoad.spread(
                                map,
                                shard -> rates.getOrDefault(shard, ShardRate.NONE)
                                        .written()))
                        .isLessThanOrEqualTo(1.25);
                return;
            }
            for (RebalancePlan.Move move : plan.moves()) {
                move.shards().stream()
                        .forEach(shard -> assertThat(moved.add(shard))
                                .as("shard %s moves once", shard)
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
}
