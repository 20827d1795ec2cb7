/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.shardflake.ShardflakeException;
import org.shardflake.router.LookupBusyException;
import org.shardflake.router.LookupTakenException;
import org.shardflake.router.ShardTransaction;

/**
 * The work of a transaction that stays open and does what another thread orders, step by step. Run again by the router, it does the same
 * steps again.
 */
final class OrderedTransaction {

    /** Ends the work without a commit. */
    static final class RolledBack extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    /** A step. */
    @FunctionalInterface
    interface Step {
        void take(ShardTransaction tx) throws Exception;
    }

    private static final Step COMMIT = tx -> {};
    private static final Step ROLLBACK = tx -> {
        throw new RolledBack();
    };

    private final List<Step> taken = new ArrayList<>();
    private final Queue<Step> ordered = new ArrayDeque<>();
    private boolean isBusy = true;
    private boolean hasEnded;

    synchronized void give(Step step) {
        ordered.add(step);
        isBusy = true;
        notifyAll();
    }

    void end(boolean commits) {
        give(commits ? COMMIT : ROLLBACK);
    }

    synchronized boolean hasEnded() {
        return hasEnded;
    }

    /** Whether it has nothing to do. */
    synchronized boolean isWaiting() {
        return !isBusy;
    }

    synchronized void ended() {
        hasEnded = true;
        isBusy = false;
        notifyAll();
    }

    synchronized void awaitIdle(long millis) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (isBusy && end - System.nanoTime() > 0) {
            wait(1 + TimeUnit.NANOSECONDS.toMillis(Math.max(0, end - System.nanoTime())));
        }
    }

    /** Takes steps until the last. */
    void obey(ShardTransaction tx, Consumer<String> teller) throws Exception {
        for (int i = 0; ; i++) {
            Step step = i < taken.size() ? taken.get(i) : next();
            if (i == taken.size()) {
                taken.add(step);
            }
            if (step == COMMIT) {
                return;
            }
            take(step, tx, teller);
        }
    }

    private static void take(Step step, ShardTransaction tx, Consumer<String> teller) throws Exception {
        try {
            step.take(tx);
        } catch (LookupTakenException | LookupBusyException | IllegalStateException e) {
            teller.accept("is refused: " + e.getMessage());
        } catch (ShardflakeException e) {
            if (e.kind() != ShardflakeException.Kind.PRECONDITION && e.kind() != ShardflakeException.Kind.USAGE) {
                throw e;
            }
            teller.accept("is refused: " + e.getMessage());
        }
    }

    private synchronized Step next() throws InterruptedException {
        while (ordered.isEmpty()) {
            isBusy = false;
            notifyAll();
            wait(60_000);
        }
        return ordered.remove();
    }
}
