/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.shardflake.move.internal.session.Sleep;

class MoveLimitsTest {

    @Test
    void pausesAreAsFarApartAsTheBudgetSays() {
        MoveLimits limits = new MoveLimits(0, 600);
        long start = System.nanoTime();

        for (int i = 0; i < 4; i++) {
            limits.awaitPause(MoveListener.NONE);
        }

        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(300));
    }

    @Test
    void withoutABudgetNobodyWaits() {
        MoveLimits limits = new MoveLimits(0, 0);
        Thread.currentThread().interrupt(); // Whoever waits fails.
        try {
            for (int i = 0; i < 100; i++) {
                assertThat(limits.awaitPause(MoveListener.NONE)).isZero();
            }
            limits.awaitBytes(Long.MAX_VALUE);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void oneCutsOverAtATime() throws Exception {
        MoveLimits limits = new MoveLimits(0, 0);
        AtomicBoolean isOver = new AtomicBoolean();
        CompletableFuture<Boolean> second;
        try (MoveLimits.Turn turn = limits.awaitTurn(MoveListener.NONE)) {
            second = CompletableFuture.supplyAsync(() -> {
                try (MoveLimits.Turn another = limits.awaitTurn(MoveListener.NONE)) {
                    return isOver.get();
                }
            });
            Sleep.millis(100);
            isOver.set(true);
        }
        assertThat(second.get(1, TimeUnit.MINUTES)).isTrue();
    }

    @Test
    @Tag("full")
    void theTurnIsAwaitedBehindManyThatHaveItShortly() {
        MoveLimits limits = new MoveLimits(0, 0);
        AtomicInteger now = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        CompletableFuture<?>[] all = IntStream.range(0, 4)
                .mapToObj(n -> CompletableFuture.runAsync(
                        () -> {
                            try (MoveLimits.Turn turn = limits.awaitTurn(MoveListener.NONE)) {
                                most.accumulateAndGet(now.incrementAndGet(), Math::max);
                                Sleep.millis(800);
                                now.decrementAndGet();
                            }
                        },
                        task -> new Thread(task).start()))
                .toArray(CompletableFuture[]::new);
        CompletableFuture.allOf(all).join();
        assertThat(most).hasValue(1);
    }

    /** One that hangs on a server holds up no others for long. */
    @Test
    @Tag("full")
    void aTurnThatNeverEndsIsNotAwaited() throws Exception {
        MoveLimits limits = new MoveLimits(0, 0);
        try (MoveLimits.Turn hanging = limits.awaitTurn(MoveListener.NONE)) {
            CompletableFuture.runAsync(() -> limits.awaitTurn(MoveListener.NONE).close())
                    .get(1, TimeUnit.MINUTES);
        }
    }

    @Test
    void schemasAreMadeOnAServerByOneMoveAtATime() throws Exception {
        MoveLimits limits = new MoveLimits(0, 0);
        AtomicBoolean isOver = new AtomicBoolean();
        CompletableFuture<Boolean> second;
        try (MoveLimits.Schemas first = limits.awaitSchemas("db1", "db2", MoveListener.NONE)) {
            CompletableFuture.runAsync(() ->
                            limits.awaitSchemas("db3", "db4", MoveListener.NONE).close())
                    .get(1, TimeUnit.MINUTES);
            second = CompletableFuture.supplyAsync(() -> {
                try (MoveLimits.Schemas another = limits.awaitSchemas("db3", "db1", MoveListener.NONE)) {
                    return isOver.get();
                }
            });
            Sleep.millis(50);
            isOver.set(true);
        }
        assertThat(second.get(1, TimeUnit.MINUTES)).isTrue();
    }
}
