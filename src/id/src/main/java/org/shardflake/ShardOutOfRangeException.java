/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.io.Serial;

/** A shard was requested that this installation does not have, by its number or by an id created elsewhere. */
public final class ShardOutOfRangeException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final int shard;
    private final int shardCount;

    private ShardOutOfRangeException(String message, int shard, int shardCount) {
        super(Kind.USAGE, message, null, null);
        this.shard = shard;
        this.shardCount = shardCount;
    }

    static ShardOutOfRangeException ofShard(int shard, int shardCount) {
        return new ShardOutOfRangeException(
                "shard %s is out of range 0..%s".formatted(shard, shardCount - 1), shard, shardCount);
    }

    static ShardOutOfRangeException ofId(long id, int shardCount) {
        int shard = IdLayout.shard(id);
        return new ShardOutOfRangeException(
                "id %s is of shard %s, which is out of range 0..%s, so it was not made here; if it is a shard key, use it as a uid"
                        .formatted(id, shard, shardCount - 1),
                shard,
                shardCount);
    }

    public int shard() {
        return shard;
    }

    /** The number of shards. */
    public int shardCount() {
        return shardCount;
    }
}
