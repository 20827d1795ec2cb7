/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.map;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.LookupDefinition;

/** The source of a router's map, and of notifications of newer ones. Thread-safe. */
public interface MapSource extends AutoCloseable {

    /** The newest known map. Never blocks. */
    ShardMap map();

    /**
     * Makes {@link #map()} at least as new as the catalog at the time of the call. If the catalog cannot be reached,
     * the map stays as it is.
     */
    void refresh();

    /** Asks for a {@link #refresh()} soon, without waiting for it. */
    void hint();

    /** Waits until the map is newer than a version, or the timeout has passed. */
    void awaitNewerThan(long version, Duration timeout) throws InterruptedException;

    /** The time since the map was last known to be current. */
    Duration age();

    /** The reason why the catalog cannot be reached, if it cannot. */
    Optional<String> problem();

    /**
     * The catalog's lookups.
     *
     * @throws org.shardflake.ShardflakeException if there is no catalog, or it cannot be reached
     */
    default List<LookupDefinition> lookups() {
        throw new ShardflakeException(
                ShardflakeException.Kind.USAGE,
                "this router has a map that never changes, and lookups are in the catalog",
                "build it with catalog(url)",
                null);
    }

    @Override
    void close();
}
