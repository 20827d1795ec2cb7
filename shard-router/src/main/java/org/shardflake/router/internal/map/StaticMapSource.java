/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.map;

import java.time.Duration;
import java.util.Optional;
import org.shardflake.ShardMap;

/** A map that never changes. */
public final class StaticMapSource implements MapSource {

    private final ShardMap map;
    private final long started = System.nanoTime();

    public StaticMapSource(ShardMap map) {
        this.map = map;
    }

    @Override
    public ShardMap map() {
        return map;
    }

    @Override
    public void refresh() {}

    @Override
    public void hint() {}

    @Override
    public void awaitNewerThan(long version, Duration timeout) throws InterruptedException {
        Thread.sleep(timeout.toMillis());
    }

    @Override
    public Duration age() {
        return Duration.ofNanos(System.nanoTime() - started);
    }

    @Override
    public Optional<String> problem() {
        return Optional.empty();
    }

    @Override
    public void close() {}
}
