/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import org.shardflake.Server;
import org.shardflake.ShardMap;

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

    /** A router was built; its map is loaded. */
    default void started(ShardRouter router) {}

    /** The router now routes by this map. */
    default void mapChanged(ShardMap map) {}

    /** A transaction on one shard has ended; work run twice ends twice. */
    default void transactionEnded(Server server, boolean readOnly, boolean committed, Duration duration) {}

    /** Work is run again after a server refused it. */
    default void retried(Server server, RetryReason reason) {}

    /**
     * A server has all that was committed to reference tables when somebody began to {@linkplain ReferenceAccess#awaitEverywhere wait
     * for it}.
     *
     * @param duration how long that took
     */
    default void referenceArrived(Server server, Duration duration) {}
}
