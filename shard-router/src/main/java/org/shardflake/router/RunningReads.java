/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Reads that can be cancelled all at once. Thread-safe. */
final class RunningReads {

    private final ReentrantLock lock = new ReentrantLock();
    private final Set<Runnable> running = new HashSet<>();
    private volatile boolean cancelled;

    boolean isCancelled() {
        return cancelled;
    }

    @FunctionalInterface
    interface Read<T extends @Nullable Object, X extends Exception> {
        T run() throws X;
    }

    /**
     * Runs a read.
     *
     * @param cancel what cancels it, in another thread
     * @throws CancellationException if all were cancelled before
     */
    <T extends @Nullable Object, X extends Exception> T run(Runnable cancel, Read<T, X> read) throws X {
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

    /** Waits for a cancel that is being sent, so that it cannot reach whoever uses the connection next. */
    private void leave(Runnable cancel) {
        lock.lock();
        try {
            running.remove(cancel);
        } finally {
            lock.unlock();
        }
    }

    void cancel() {
        lock.lock();
        try {
            if (!cancelled) {
                cancelled = true;
                cancelAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** All at once: a server that does not answer keeps each waiting. */
    private void cancelAll() {
        List<Thread> cancelling = running.stream()
                .map(cancel -> new Thread(cancel, "shardflake-cancel"))
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
