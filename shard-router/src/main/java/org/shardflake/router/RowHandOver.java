/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.concurrent.CancellationException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Hands over rows one at a time, from any thread that reads them, until the read is given up. Thread-safe. */
final class RowHandOver {

    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable RuntimeException failure;
    private boolean ended;

    /** The exception thrown by an action, if any. */
    @Nullable
    RuntimeException failure() {
        return failure;
    }

    /** Waits for a running action, and lets no other start. */
    void end() {
        lock.lock();
        try {
            ended = true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Runs the action for a row.
     *
     * @throws CancellationException if the read was given up
     */
    void run(Runnable action) {
        lock.lock();
        try {
            // Whoever gave up the read interrupts this thread, which may be between two statements.
            if (ended || failure != null || Thread.currentThread().isInterrupted()) {
                throw new CancellationException("the read was given up");
            }
            action.run();
        } catch (CancellationException e) {
            throw e;
        } catch (RuntimeException e) {
            failure = e;
            throw e;
        } finally {
            lock.unlock();
        }
    }
}
