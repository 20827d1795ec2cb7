/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.exception;

import java.io.Serial;
import java.time.Duration;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeException;

/**
 * A server refused work on a shard that the map places there, or lacked the shard, until the limit on attempts or time was reached. None of the
 * work was done.
 *
 * <p>Either the shard is being moved and the move is stuck, or this router's map is older than the move and the catalog
 * cannot be reached for the new one.
 */
public final class ShardFencedException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final int shard;
    private final String server;
    private final long epoch;

    public ShardFencedException(
            String how, ShardPlacement placement, long mapVersion, int tries, Duration waited, Throwable cause) {
        super(
                ("shard %s %s server %s, where map version %s has it (epoch %s); tried %s times in %s ms."
                                + " Look at the shard's move, and at the router's health for the age of its map")
                        .formatted(
                                placement.shard(),
                                how,
                                placement.server().name(),
                                mapVersion,
                                placement.epoch(),
                                tries,
                                waited.toMillis()),
                cause);
        this.shard = placement.shard();
        this.server = placement.server().name();
        this.epoch = placement.epoch();
    }

    public int shard() {
        return shard;
    }

    /** The server that refused the work. */
    public String server() {
        return server;
    }

    /** The epoch of the placement that the router knew. */
    public long epoch() {
        return epoch;
    }
}
