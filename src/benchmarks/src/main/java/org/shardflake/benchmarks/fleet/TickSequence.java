/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

/**
 * A table's sequence as {@code next_id} draws from it: it counts on, unless it lags the clock by more than 3 ms; then it jumps to
 * the clock.
 */
final class TickSequence {

    /** Ids of one table in one shard that the layout has for a second. */
    static final double PER_SECOND = 1_024_000;

    private static final int TICKS_PER_MILLI = 1024;
    private static final int HOT_LAG = 3 * TICKS_PER_MILLI;

    private long last = -1;

    /** Draws an id at a time of the clock, in milliseconds since the epoch, and returns its millisecond. */
    long draw(long clockMillis) {
        long now = clockMillis * TICKS_PER_MILLI;
        last = last < now - HOT_LAG ? now | ((last + 1) & (TICKS_PER_MILLI - 1)) : last + 1;
        return last / TICKS_PER_MILLI;
    }

    /** How far the sequence is ahead of the clock after so many seconds of a burst, in seconds. */
    static double lead(double idsPerSecond, double seconds) {
        return Math.max(0, seconds * (idsPerSecond / PER_SECOND - 1));
    }

    /** How long the clock takes to catch up with such a lead, while ids are drawn more slowly, in seconds. */
    static double catchUp(double lead, double idsPerSecond) {
        return lead / (1 - idsPerSecond / PER_SECOND);
    }
}
