/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.parallel.ParallelMoves;
import org.shardflake.rebalance.Decision.Choice;

/** A loop that is left running, while every minute other shards become the busy ones. */
@Tag("full")
class AutoRebalanceIT {

    private static final int SHARDS = 24;
    private static final int SERVERS = 3;
    private static final int WRITERS = 4;
    private static final int MINUTES = 2;
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final int LONGEST_MINUTES = 10;

    /** Percent; the servers of a test share a disk with whatever else is going on. */
    private static final int SLOWER = 5_000;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(SERVERS + 1);

    @TempDir
    static Path directory;

    private final List<Decision> log = new CopyOnWriteArrayList<>();
    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, SERVERS, SHARDS, directory);
    }

    @Test
    void theServersAreEvenlyLoadedEachMinuteAndNoShardMovesTwice() throws Exception {
        try (ZipfLoad load = new ZipfLoad(shards, SHARDS, WRITERS);
                AutoRebalance engine = engine()) {
            CompletableFuture<Void> ended = new CompletableFuture<>();
            Thread loop = new Thread(() -> keepBalancing(engine, ended));
            loop.start();
            for (int minute = 0; minute < MINUTES; minute++) {
                int begin = log.size();
                load.change(minute);
                awaitRest(begin, ended);
                requireNoShardTwice(log.subList(begin, log.size()));
                assertThat(ZipfLoad.spread(shards.catalog().load(), load::share))
                        .as(log.toString())
                        .isLessThanOrEqualTo(1.25);
            }
            loop.interrupt();
            loop.join();
            load.requireNoErrors();
        }
        assertThat(log).extracting(Decision::choice).contains(Choice.MOVE).doesNotContain(Choice.TURN_BACK);
    }

    private AutoRebalance engine() {
        AutoSettings settings = new AutoSettings(
                RebalanceSettings.by(RebalanceBy.RATE),
                Duration.ofSeconds(8),
                Duration.ofSeconds(40),
                Duration.ofSeconds(3),
                SLOWER,
                1000);
        ParallelMoves moves = new ParallelMoves(shards.mover(MoveSettings.DEFAULT, MoveListener.NONE), "a test");
        return new AutoRebalance(
                shards.catalogUrl(), server -> shards.url(server.name()), settings, moves::run, decision -> {
                    System.out.println(decision);
                    log.add(decision);
                });
    }

    /** A failure completes the future. */
    private static void keepBalancing(AutoRebalance engine, CompletableFuture<Void> ended) {
        try {
            engine.run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            ended.completeExceptionally(e);
        }
    }

    /** For a minute at least, until nothing was left to do in two rounds, of which the first may have measured the load before. */
    private void awaitRest(int begin, CompletableFuture<Void> ended) throws InterruptedException {
        long start = System.nanoTime();
        while (System.nanoTime() - start < MINUTE.toNanos() || !isAtRest(begin)) {
            if (ended.isCompletedExceptionally()) {
                ended.join();
            }
            assertThat(System.nanoTime() - start)
                    .as("it comes to rest: %s", log)
                    .isLessThan(MINUTE.toNanos() * LONGEST_MINUTES);
            Thread.sleep(100);
        }
    }

    private boolean isAtRest(int begin) {
        int size = log.size();
        return size >= begin + 2
                && log.get(size - 1).choice() == Choice.STAY
                && log.get(size - 2).choice() == Choice.STAY;
    }

    private static void requireNoShardTwice(List<Decision> phase) {
        Set<Integer> moved = new TreeSet<>();
        phase.stream()
                .filter(decision -> decision.choice() == Choice.MOVE)
                .flatMapToInt(decision -> decision.move().orElseThrow().shards().stream())
                .forEach(shard -> assertThat(moved.add(shard))
                        .as("shard %s moves once: %s", shard, phase)
                        .isTrue());
    }
}
