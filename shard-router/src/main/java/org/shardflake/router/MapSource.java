/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import org.shardflake.ShardMap;

/** Where a router's map comes from, and how it hears of a newer one. Thread-safe. */
interface MapSource extends AutoCloseable {

    /** The newest map that is known. Never blocks. */
    ShardMap map();

    /**
     * Sees to it that {@link #map()} is at least as new as the catalog was when this was called. Where the catalog cannot
     * be asked, the map stays as it is.
     */
    void refresh();

    /** Asks for a {@link #refresh()} soon, without waiting for it. */
    void hint();

    /** Waits until the map is newer than a version, or the time is over. */
    void awaitNewerThan(long version, Duration timeout) throws InterruptedException;

    MapHealth health();

    @Override
    void close();
}
