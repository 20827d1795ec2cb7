/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.shardflake.ShardSet;
import org.shardflake.catalog.MapChange;
import org.shardflake.catalog.ShardCatalog;

/**
 * The shards that changed servers recently, according to the catalog's history, whoever moved them.
 *
 * @param changes of the shard map, one for each shard and move
 */
public record RecentMoves(List<MapChange> changes) {

    /** The number of map changes to read, larger than the number of shards. */
    private static final int HISTORY = 10_000;

    public RecentMoves {
        changes = List.copyOf(changes);
    }

    /** The moves within a period up to now. */
    public static RecentMoves within(Duration time, ShardCatalog catalog) {
        Instant since = Instant.now().minus(time);
        return new RecentMoves(catalog.history(HISTORY).stream()
                .filter(change -> change.shard().isPresent()
                        && change.fromServer().isPresent()
                        && change.time().isAfter(since))
                .toList());
    }

    /** The shards that moved, each of them once. */
    public ShardSet shards() {
        return ShardSet.of(changes.stream()
                .flatMapToInt(change -> change.shard().stream())
                .distinct()
                .toArray());
    }
}
