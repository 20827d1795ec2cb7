/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;

/** A clock that shows what it is told: each of some times once, then the last for good. Not thread-safe. */
final class StepClock implements InstantSource {

    private final Deque<Instant> times = new ArrayDeque<>();

    StepClock(long... millis) {
        show(millis);
    }

    /** From now on shows these times. */
    void show(long... millis) {
        times.clear();
        for (long time : millis) {
            times.add(Instant.ofEpochMilli(time));
        }
    }

    @Override
    public Instant instant() {
        return times.size() > 1 ? times.remove() : times.element();
    }
}
