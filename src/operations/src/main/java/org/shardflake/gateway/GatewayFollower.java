/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.move.CutoverFollower;

/**
 * Keeps all gateways up to date during cutovers, on its own thread: one refresh covers all shards cut over while the previous one ran. A gateway that
 * cannot be brought along is told of, and holds up no move. Thread-safe.
 */
public final class GatewayFollower implements CutoverFollower {

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    /** The longest time that the end of a move waits for gateways. */
    private static final Duration SETTLE = Duration.ofSeconds(5);

    private final Gateways gateways;
    private final Consumer<Advice> problems;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** The number of cutovers so far; the fields after it hold the number at the start of the last refresh, and of the last successful one. */
    private long told;

    private long begun;
    private long followed;
    /** Whether the last refresh failed or took too long. */
    private boolean hasFailed;

    private @Nullable Thread worker;

    /** @param problems receives what went wrong, with the command that helps */
    public GatewayFollower(Gateways gateways, Consumer<Advice> problems) {
        this.gateways = gateways;
        this.problems = problems;
    }

    @Override
    public void moved() {
        lock.lock();
        try {
            told++;
            changed.signalAll();
            if (worker == null) {
                worker = new Thread(this::work, "shardflake-gateways");
                worker.setDaemon(true);
                worker.start();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits until the gateways have followed all cutovers so far, or one of them has failed. */
    @Override
    public void settled() {
        lock.lock();
        try {
            long wanted = told;
            long left = SETTLE.toNanos();
            while (followed < wanted && !hasFailed && left > 0) {
                left = changed.awaitNanos(left);
            }
            if (left <= 0) {
                hasFailed = true;
                problems.accept(Advice.of("gateways have not followed yet: see %s", CliCommand.GATEWAY_STATUS));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    private void work() {
        try {
            while (next()) {
                boolean isWell = refresh();
                lock.lock();
                try {
                    hasFailed = !isWell;
                    if (isWell) {
                        followed = begun;
                    }
                    changed.signalAll();
                } finally {
                    lock.unlock();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            end();
        }
    }

    /** Ends the worker in any case, so that the next move gets a new one and nothing waits for this one. */
    private void end() {
        lock.lock();
        try {
            if (worker == Thread.currentThread()) {
                worker = null;
                hasFailed = true;
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits for work; false if nothing came for a long time. */
    private boolean next() throws InterruptedException {
        lock.lock();
        try {
            while (begun == told) {
                if (!changed.await(1, TimeUnit.MINUTES) && begun == told) {
                    worker = null;
                    return false;
                }
            }
            begun = told;
            return true;
        } finally {
            lock.unlock();
        }
    }

    private boolean refresh() {
        boolean isWell = true;
        try {
            List<Gateway> all = gateways.all();
            for (Gateway gateway : all) {
                isWell &= refresh(gateway);
            }
            return isWell;
        } catch (RuntimeException e) {
            return false; // The catalog does not answer: the move has the same trouble, and tells of it.
        }
    }

    private boolean refresh(Gateway gateway) {
        try {
            gateways.refresh(gateway, PATIENCE);
            return true;
        } catch (RuntimeException e) {
            problems.accept(Advice.of(
                    "gateway %s has not followed: %s. Later, %s brings it up to date",
                    gateway.name(), String.valueOf(e.getMessage()), CliCommand.GATEWAY_REFRESH.with(gateway.name())));
            return false;
        }
    }
}
