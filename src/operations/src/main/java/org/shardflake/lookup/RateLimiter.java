/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import org.shardflake.ShardflakeException;

/** Limits how many pieces of work start per second. Thread-safe. */
final class RateLimiter {

    private final long nanosBetween;
    private long next = System.nanoTime();

    /** @param perSecond 0 for no limit */
    RateLimiter(int perSecond) {
        this.nanosBetween = perSecond == 0 ? 0 : 1_000_000_000L / perSecond;
    }

    /** Waits until the next piece of work may start. */
    void next() {
        if (nanosBetween == 0) {
            return;
        }
        long wait = reserve();
        if (wait > 0) {
            try {
                Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new ShardflakeException("interrupted", e);
            }
        }
    }

    private synchronized long reserve() {
        long now = System.nanoTime();
        next = Math.max(next, now - nanosBetween) + nanosBetween;
        return next - now;
    }
}
