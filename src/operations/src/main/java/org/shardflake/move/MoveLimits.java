/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.internal.session.Sleep;

/** The limits that all moves of a process share: bytes, write pauses, and steps that only one move may do at a time. Thread-safe. */
final class MoveLimits {

    private static final long NANOS_A_SECOND = 1_000_000_000L;

    /** The minimum time between two cutovers, which a restore point needs. */
    private static final long NANOS_BETWEEN_CUTOVERS = 10_000_000L;

    /** The time to wait for a turn; a normal cutover is shorter, and one that hangs must not hold up others. */
    private static final long TURN_SECONDS = 2;

    private final long bytesPerSecond;
    private final int pausesPerMinute;
    private final ReentrantLock cutover = new ReentrantLock(true);
    private final Map<String, ReentrantLock> schemas = new ConcurrentHashMap<>();
    private long nextBytes = System.nanoTime();
    private long nextPause = System.nanoTime();
    private final AtomicLong turns = new AtomicLong();
    private volatile long nextCutover = System.nanoTime();

    /**
     * @param bytesPerSecond to copy, 0 for no limit
     * @param pausesPerMinute attempts at a cutover, 0 for no limit
     */
    public MoveLimits(long bytesPerSecond, int pausesPerMinute) {
        this.bytesPerSecond = bytesPerSecond;
        this.pausesPerMinute = pausesPerMinute;
    }

    /** Waits as long as copying these bytes may take. */
    void awaitBytes(long bytes) {
        if (bytesPerSecond > 0) {
            long wait = reserve(bytes);
            if (wait > 1_000_000) {
                Sleep.millis(wait / 1_000_000);
            }
        }
    }

    private synchronized long reserve(long bytes) {
        long now = System.nanoTime();
        // Unused allowance is not made up for.
        nextBytes = Math.max(nextBytes, now - 100_000_000L) + bytes * NANOS_A_SECOND / bytesPerSecond;
        return nextBytes - now;
    }

    /** Waits until another write pause is allowed; returns the time waited in nanoseconds. */
    long awaitPause(MoveListener listener) {
        long wait = pausesPerMinute > 0 ? Math.max(reservePause(), 0) : 0;
        if (wait > NANOS_A_SECOND) {
            listener.waits("the next cutover is in %s s: at most %s write pauses a minute are allowed"
                    .formatted(wait / NANOS_A_SECOND, pausesPerMinute));
        }
        if (wait > 0) {
            Sleep.millis(wait / 1_000_000 + 1);
        }
        return wait;
    }

    private synchronized long reservePause() {
        long now = System.nanoTime();
        long wait = nextPause - now;
        nextPause = Math.max(nextPause, now) + 60 * NANOS_A_SECOND / pausesPerMinute;
        return wait;
    }

    /**
     * Waits for the turn to cut a shard over, which ends when it is closed: concurrent cutovers would only lengthen each other's pause, on the
     * servers and at the one catalog row that all of them change. To be used by one thread.
     */
    Turn awaitTurn(MoveListener listener) {
        try {
            boolean mine = tryTurn(listener);
            long early = nextCutover - System.nanoTime();
            if (early > 0) {
                TimeUnit.NANOSECONDS.sleep(early);
            }
            return new Turn(mine);
        } catch (InterruptedException e) {
            if (cutover.isHeldByCurrentThread()) {
                cutover.unlock();
            }
            Thread.currentThread().interrupt();
            throw new MoveException("interrupted between two cutovers", e);
        }
    }

    /** Tries to take the turn; false if a single other move has had it all the time. */
    private boolean tryTurn(MoveListener listener) throws InterruptedException {
        if (cutover.tryLock(1, TimeUnit.SECONDS)) {
            turns.incrementAndGet();
            return true;
        }
        listener.waits("another move of this run is cutting a shard over");
        long others;
        do {
            others = turns.get();
            if (cutover.tryLock(TURN_SECONDS, TimeUnit.SECONDS)) {
                turns.incrementAndGet();
                return true;
            }
        } while (turns.get() != others);
        return false;
    }

    /**
     * Waits until no other move of this process creates schemas on either server, so that waits for them are not counted against time limits.
     * To be closed by the same thread.
     */
    Schemas awaitSchemas(String source, String target, MoveListener listener) {
        // Always in the same order, so that moves in opposite directions do not wait for each other.
        Schemas taken = new Schemas();
        for (String server : new TreeSet<>(List.of(source, target))) {
            ReentrantLock lock = schemas.computeIfAbsent(server, name -> new ReentrantLock());
            try {
                if (!lock.tryLock(1, TimeUnit.SECONDS)) {
                    listener.waits("another move of this run creates schemas on %s".formatted(server));
                    lock.lockInterruptibly();
                }
                taken.locks.add(lock);
            } catch (InterruptedException e) {
                taken.close();
                Thread.currentThread().interrupt();
                throw new MoveException("interrupted before the schema was made", e);
            }
        }
        return taken;
    }

    /** The exclusive right, within this process, to create schemas on two servers. */
    static final class Schemas implements AutoCloseable {

        private final List<ReentrantLock> locks = new ArrayList<>();

        @Override
        public void close() {
            locks.forEach(ReentrantLock::unlock);
        }
    }

    /** The turn to cut a shard over. */
    final class Turn implements AutoCloseable {

        private final boolean mine;

        private Turn(boolean mine) {
            this.mine = mine;
        }

        @Override
        public void close() {
            if (mine) {
                nextCutover = System.nanoTime() + NANOS_BETWEEN_CUTOVERS;
                cutover.unlock();
            }
        }
    }
}
