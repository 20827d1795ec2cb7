/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/** What a generator in Java takes for the time. Thread-safe. */
final class JavaTrialClock implements TrialClock, InstantSource {

    private record State(Duration behind, @Nullable Instant stands) {}

    private volatile State state = new State(Duration.ZERO, null);

    @Override
    public Instant instant() {
        State now = state;
        return now.stands() == null ? Instant.now().minus(now.behind()) : now.stands();
    }

    @Override
    public void stepBack(Duration by) {
        state = new State(by, null);
    }

    @Override
    public void stand() {
        state = new State(Duration.ZERO, Instant.now());
    }

    @Override
    public void mend() {
        state = new State(Duration.ZERO, null);
    }
}
