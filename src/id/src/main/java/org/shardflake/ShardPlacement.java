/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

/**
 * The server of a shard in one version of the shard map.
 *
 * @param shard the logical shard: 0..8191
 * @param server the server that holds the shard's rows
 * @param epoch the number of times the shard has been placed, from 1; of two placements, the one with the higher epoch
 *     is newer
 */
public record ShardPlacement(int shard, Server server, long epoch) {

    /** The shard's PostgreSQL schema: {@code shard_0007}. */
    public String schema() {
        return Sharding.schema(shard);
    }
}
