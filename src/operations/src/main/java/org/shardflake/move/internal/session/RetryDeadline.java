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

    /** The time left; the first call starts the deadline. */
    public Duration left() {
        return isOver() ? Duration.ZERO : Duration.ofNanos(Math.max(0, end - System.nanoTime()));
    }

    /** Makes the deadline start again at the next check. */
    public void restart() {
        running = false;
    }

    /** Whether the deadline has passed. */
    public boolean isOver() {
        if (!running) {
            running = true;
            end = System.nanoTime() + duration.toNanos();
        }
        return System.nanoTime() - end > 0;
    }
}
