/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.time.Duration;

/** A time limit for retries, starting when it is first checked. For one thread. */
final class RetryDeadline {

    private final Duration duration;
    private boolean running;
    private long end;

    RetryDeadline(Duration duration) {
        this.duration = duration;
    }

    /** What is left of it; starts it. */
    Duration left() {
        return isOver() ? Duration.ZERO : Duration.ofNanos(Math.max(0, end - System.nanoTime()));
    }

    /** Starts anew. */
    void restart() {
        running = false;
    }

    /** Whether it has run out. */
    boolean isOver() {
        if (!running) {
            running = true;
            end = System.nanoTime() + duration.toNanos();
        }
        return System.nanoTime() - end > 0;
    }
}
