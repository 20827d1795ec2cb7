/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

/**
 * A shard's home, as one version of the shard map has it.
 *
 * @param shard the logical shard: 0..8191
 * @param server the server that the shard's rows are on
 * @param epoch how often the shard was placed, counted from 1; the higher one of two placements is the newer
 */
public record ShardPlacement(int shard, Server server, long epoch) {

    /** The PostgreSQL schema that is this shard: {@code shard_0007}. */
    public String schema() {
        return Sharding.schema(shard);
    }
}
