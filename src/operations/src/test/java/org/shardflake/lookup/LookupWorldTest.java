/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;

/**
 * Two rows never have one value, whatever is done in whatever order. The seed of each run is printed; {@code -Dlookup.seed} and {@code
 * -Dlookup.kinds} repeat one, {@code -Dlookup.histories} makes it longer.
 */
class LookupWorldTest {

    private static final int WORLDS = 4;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @TempDir
    static Path directory;

    private static LookupFixture fixture;

    @BeforeAll
    static void create() throws Exception {
        fixture = new LookupFixture(postgres, directory);
        fixture.create(LookupWorld.changelog(WORLDS));
    }

    /** Two kinds, another two each time; the long one plays them all. */
    @Test
    void twoRowsNeverHaveOneValue() throws Exception {
        play(Integer.getInteger("lookup.histories", 2), false);
    }

    @Test
    @Tag("full")
    void twoRowsNeverHaveOneValueForLong() throws Exception {
        play(Integer.getInteger("lookup.histories", 42), true);
    }

    @SuppressWarnings("EnumOrdinal") // any kind will do
    private static void play(int histories, boolean withMoves) throws Exception {
        long seed = Long.getLong("lookup.seed", System.nanoTime());
        System.out.printf("%,d histories from seed %s%n", histories, seed);
        String[] kinds = System.getProperty("lookup.kinds", "").split(",", -1);
        AtomicInteger next = new AtomicInteger();
        Queue<String> wrong = new ConcurrentLinkedQueue<>();
        ExecutorService threads = Executors.newFixedThreadPool(WORLDS);
        long start = System.nanoTime();
        try {
            List<Future<?>> players = new ArrayList<>();
            for (int i = 0; i < Math.min(WORLDS, histories); i++) {
                int number = i;
                players.add(threads.submit(() -> {
                    try (LookupWorld world = new LookupWorld(fixture, number)) {
                        for (int n = next.getAndIncrement();
                                n < histories && wrong.isEmpty();
                                n = next.getAndIncrement()) {
                            LookupWorld.Kind kind = kinds[0].isEmpty()
                                    ? LookupWorld.Kind.values()[
                                            Math.floorMod(seed + n, LookupWorld.Kind.values().length)]
                                    : LookupWorld.Kind.valueOf(kinds[n % kinds.length]);
                            world.play(kind, seed + n, withMoves && n % 40 == 0).ifPresent(wrong::add);
                        }
                    }
                    return true;
                }));
            }
            for (Future<?> player : players) {
                player.get(10 + histories / 50, TimeUnit.MINUTES);
            }
        } finally {
            threads.shutdownNow();
        }
        System.out.printf("%,d histories in %,d ms%n", next.get(), (System.nanoTime() - start) / 1_000_000);
        assertThat(wrong).isEmpty();
    }
}
