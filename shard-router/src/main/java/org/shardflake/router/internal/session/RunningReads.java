/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Reads that can all be cancelled together. Thread-safe. */
public final class RunningReads {

    private static final long FIRST_PAUSE_MILLIS = 50;
    private static final long LONGEST_PAUSE_MILLIS = 2_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition left = lock.newCondition();
    private final Set<Runnable> running = new HashSet<>();
    private volatile boolean cancelled;

    public boolean isCancelled() {
        return cancelled;
    }

    @FunctionalInterface
    public interface Read<T extends @Nullable Object, X extends Exception> {
        T run() throws X;
    }

    /**
     * Runs a read.
     *
     * @param cancel cancels the read, in another thread
     * @throws CancellationException if all reads have been cancelled already
     */
    public <T extends @Nullable Object, X extends Exception> T run(Runnable cancel, Read<T, X> read) throws X {
        enter(cancel);
        try {
            return read.run();
        } finally {
            leave(cancel);
        }
    }

    private void enter(Runnable cancel) {
        lock.lock();
        try {
            if (cancelled) {
                throw new CancellationException("the read over many shards was given up");
            }
            running.add(cancel);
        } finally {
            lock.unlock();
        }
    }

    public static Thread daemon(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }

    /** Waits for a cancel that is being sent, so that it cannot hit the connection's next user. */
    private void leave(Runnable cancel) {
        lock.lock();
        try {
            running.remove(cancel);
            left.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Cancels all reads. PostgreSQL ignores a cancel that comes before its statement, so it is sent again until no read
     * runs any more; the caller waits only for the first.
     */
    public void cancel() {
        lock.lock();
        try {
            if (cancelled) {
                return;
            }
            cancelled = true;
            cancelAll();
            if (!running.isEmpty()) {
                daemon(this::cancelUntilAllLeft, "shardflake-cancel").start();
            }
        } finally {
            lock.unlock();
        }
    }

    private void cancelUntilAllLeft() {
        long pause = FIRST_PAUSE_MILLIS;
        lock.lock();
        try {
            while (!running.isEmpty()) {
                if (!left.await(pause, TimeUnit.MILLISECONDS)) {
                    cancelAll();
                    pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    /** Sends all cancels in parallel, since each would wait for a server that does not answer. */
    private void cancelAll() {
        List<Thread> cancelling = running.stream()
                .map(cancel -> daemon(cancel, "shardflake-cancel"))
                .toList();
        cancelling.forEach(Thread::start);
        try {
            for (Thread thread : cancelling) {
                thread.join();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
