/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.time.Duration;

/** A time limit for retries, starting when it is first checked. For one thread. */
public final class RetryDeadline {

    private final Duration duration;
    private boolean running;
    private long end;

    public RetryDeadline(Duration duration) {
        this.duration = duration;
    }

    /** What is left of it; starts it. */
    public Duration left() {
        return isOver() ? Duration.ZERO : Duration.ofNanos(Math.max(0, end - System.nanoTime()));
    }

    /** Starts anew. */
    public void restart() {
        running = false;
    }

    /** Whether it has run out. */
    public boolean isOver() {
        if (!running) {
            running = true;
            end = System.nanoTime() + duration.toNanos();
        }
        return System.nanoTime() - end > 0;
    }
}
