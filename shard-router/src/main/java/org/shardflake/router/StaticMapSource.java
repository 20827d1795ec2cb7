/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.LookupDefinition;

/** A map that never changes. */
final class StaticMapSource implements MapSource {

    private final ShardMap map;
    private final long started = System.nanoTime();

    StaticMapSource(ShardMap map) {
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
    public MapHealth health() {
        return new MapHealth(map.version(), Duration.ofNanos(System.nanoTime() - started), Optional.empty());
    }

    @Override
    public List<LookupDefinition> lookups() {
        throw new ShardflakeException(
                ShardflakeException.Kind.USAGE,
                "this router has a map that never changes, and lookups are in the catalog",
                "build it with catalog(url)",
                null);
    }

    @Override
    public void close() {}
}
