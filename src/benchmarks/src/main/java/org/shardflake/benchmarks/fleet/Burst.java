/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

/**
 * A second of more ids than the layout has for it, for one table of one shard, drawn one by one.
 *
 * @param idsPerSecond in that second
 * @param lead how far the time in the ids was ahead of the clock at most, in seconds
 * @param catchUp how long it was ahead after that second, in seconds
 */
record Burst(double idsPerSecond, double lead, double catchUp) {

    /** Lets the burst be followed by a lower demand until the clock has caught up. */
    static Burst simulate(int idsPerSecond, int idsPerSecondAfterwards) {
        TickSequence sequence = new TickSequence();
        long lead = 0;
        for (long millis = 0; millis < 1000; millis++) {
            lead = Math.max(lead, drawn(sequence, millis, idsPerSecond));
        }
        long millis = 1000;
        while (drawn(sequence, millis, idsPerSecondAfterwards) > 0) {
            millis++;
        }
        return new Burst(idsPerSecond, lead / 1000.0, (millis - 1000) / 1000.0);
    }

    /** Draws the ids of one millisecond and says how far the last one is ahead. */
    private static long drawn(TickSequence sequence, long millis, int idsPerSecond) {
        long count = (millis + 1) * idsPerSecond / 1000 - millis * idsPerSecond / 1000;
        long ahead = 0;
        for (long i = 0; i < count; i++) {
            ahead = sequence.draw(millis) - millis;
        }
        return ahead;
    }
}
