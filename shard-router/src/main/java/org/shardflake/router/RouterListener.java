/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.router.health.RouterState;

/**
 * Receives the events of a router, for metrics and logs.
 *
 * <p>Called on the threads that do the work, so it must be quick, thread-safe, and not throw.
 */
public interface RouterListener {

    /** The reason why work was run again. */
    enum RetryReason {
        /** The shard is moving or has moved. */
        SHARD_MOVED,
        /** A serialization failure or deadlock. */
        SERIALIZATION_FAILURE,
        /** The connection was lost before the commit. */
        CONNECTION_LOST
    }

    /** Called when a router has been built and has loaded its map. */
    default void started(RouterState router) {}

    /** Called when the router begins to route by this map. */
    default void mapChanged(ShardMap map) {}

    /**
     * Called when work on one shard begins on the calling thread: that of {@link ShardRouter#write}, {@code read} or {@link ShardRouter#attempt},
     * with all its attempts. Work inside it that joins its transaction is part of it; reads over many shards are not told of.
     *
     * @param server where the shard is when the work begins
     * @return what to tell of its end, or null
     */
    default @Nullable RunningWork workBegan(Server server, int shard) {
        return null;
    }

    /**
     * Called when a transaction on one shard has ended, once for each run of the work. On a connection in auto-commit mode each statement is
     * one.
     */
    default void transactionEnded(Server server, boolean readOnly, boolean committed, Duration duration) {}

    /** Called when work is run again after a server refused it. */
    default void retried(Server server, RetryReason reason) {}

    /**
     * Called when a server has everything committed to reference tables before someone began to {@linkplain ReferenceAccess#awaitEverywhere
     * wait for it}.
     *
     * @param duration how long that took
     */
    default void referenceArrived(Server server, Duration duration) {}

    /** A {@linkplain ShardRouterBuilder#darkReads dark read} has been compared, or skipped; called on a thread of the router or of the application. */
    default void darkReadEnded(DarkRead read) {}
}
