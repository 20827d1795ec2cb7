/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.Serial;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeException;

/** Work inside a transaction on one shard asked for another, which it cannot reach; nothing was done there. */
public final class CrossShardException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final int shard;
    private final int otherShard;

    /**
     * @param asked the key or work for the other shard
     * @param key the key that the transaction was begun for, if known
     */
    CrossShardException(int shard, int otherShard, Object asked, @Nullable ShardKey key) {
        super(
                "%s is in shard %s, but this transaction is of shard %s%s; a transaction belongs to one shard, so end it first"
                        .formatted(asked, otherShard, shard, key == null ? "" : ", for " + key));
        this.shard = shard;
        this.otherShard = otherShard;
    }

    /**
     * @param opened the work whose connection is used
     * @param current the work of another shard that uses it
     */
    CrossShardException(ShardAttempt opened, ShardAttempt current) {
        super(
                "%s is in shard %s, but this connection is of shard %s, for %s; begin a transaction for each shard, or leave this one's work first"
                        .formatted(current.key(), current.shard(), opened.shard(), opened.key()));
        this.shard = opened.shard();
        this.otherShard = current.shard();
    }

    /** The shard of the open transaction or connection. */
    public int shard() {
        return shard;
    }

    /** The shard that the work asked for. */
    public int otherShard() {
        return otherShard;
    }
}
