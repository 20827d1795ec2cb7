/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * One generator that is asked for 100 ids each millisecond, while its clock is sane, steps back by a second or stands for one,
 * and is sane again. Another thread moves the clock, so that a generator which waits for it is not waited for.
 */
final class ClockTrial {

    private static final int IDS_A_MILLISECOND = 100;
    private static final long MILLI = 1_000_000;
    private static final long DELAY = 20 * MILLI;
    private static final Duration SPELL = Duration.ofSeconds(1);

    /** Makes so many ids and hands each over at once; those made before a failure count too. */
    @FunctionalInterface
    interface Draw {
        void some(int count, Consumer<Comparable<?>> into) throws Exception;
    }

    /**
     * What came of it.
     *
     * @param ids made
     * @param duplicates ids that had been made before
     * @param failures calls that made no ids but an error
     * @param longestGapMillis the longest time without an id
     */
    record Outcome(long ids, long duplicates, long failures, long longestGapMillis) {}

    private final TrialClock clock;
    private final Draw draw;
    private final int millis;

    /** With so much time before the clock misbehaves, and after it has been mended. */
    ClockTrial(TrialClock clock, Draw draw, int millis) {
        this.clock = clock;
        this.draw = draw;
        this.millis = millis;
    }

    /** Has the clock show the last second once more, and then the right time. */
    Outcome stepBack() throws Exception {
        return run(() -> clock.stepBack(SPELL));
    }

    /** Has the clock stand for a second, and then show the right time. */
    Outcome stand() throws Exception {
        return run(clock::stand);
    }

    /** What befalls the clock. */
    @FunctionalInterface
    private interface Event {
        void happen() throws Exception;
    }

    private Outcome run(Event event) throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try {
            Future<Outcome> drawn = thread.submit(() -> drawUntil(over));
            Thread.sleep(millis);
            event.happen();
            Thread.sleep(SPELL.toMillis());
            clock.mend();
            Thread.sleep(millis);
            over.set(true);
            return drawn.get();
        } finally {
            over.set(true);
            clock.mend();
            thread.shutdown();
        }
    }

    private Outcome drawUntil(AtomicBoolean over) {
        Drawn drawn = new Drawn();
        long failures = 0;
        long due = System.nanoTime();
        while (!over.get()) {
            try {
                draw.some(IDS_A_MILLISECOND, drawn);
            } catch (Exception e) {
                failures++;
            }
            // Makes up for what a busy machine delays, but not for a generator that waited.
            due = Math.max(due + MILLI, System.nanoTime() - DELAY);
            LockSupport.parkNanos(due - System.nanoTime());
        }
        return new Outcome(drawn.ids.size(), Duplicates.count(drawn.ids), failures, drawn.longestGap() / MILLI);
    }

    /** Keeps ids, and the longest time between two. */
    private static final class Drawn implements Consumer<Comparable<?>> {

        private final List<Comparable<?>> ids = new ArrayList<>();
        private long last = System.nanoTime();
        private long longestGap;

        @Override
        public void accept(Comparable<?> id) {
            ids.add(id);
            longestGap = longestGap();
            last = System.nanoTime();
        }

        long longestGap() {
            return Math.max(longestGap, System.nanoTime() - last);
        }
    }
}
