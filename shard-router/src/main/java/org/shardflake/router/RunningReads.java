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

/** Reads that can be cancelled all at once. Thread-safe. */
final class RunningReads {

    private final ReentrantLock lock = new ReentrantLock();
    private final Set<ShardTransaction> running = new HashSet<>();
    private volatile boolean cancelled;

    boolean isCancelled() {
        return cancelled;
    }

    <T, X extends Exception> T run(ShardTransaction tx, ShardWork<T, X> work) throws X {
        enter(tx);
        try {
            return work.run(tx);
        } finally {
            leave(tx);
        }
    }

    private void enter(ShardTransaction tx) {
        lock.lock();
        try {
            if (cancelled) {
                throw new CancellationException("the read over many shards was given up");
            }
            running.add(tx);
        } finally {
            lock.unlock();
        }
    }

    /** Waits for a cancel that is being sent, so that it cannot reach whoever uses the connection next. */
    private void leave(ShardTransaction tx) {
        lock.lock();
        try {
            running.remove(tx);
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
                .map(tx -> new Thread(tx::cancel, "shardflake-cancel"))
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
