/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** Work inside a transaction on one shard asked for another, which it cannot reach; nothing was done there. */
public final class CrossShardException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final int shard;
    private final int otherShard;

    CrossShardException(int shard, int otherShard, Object asked) {
        super(
                "%s is in shard %d, but this transaction is of shard %d; a transaction belongs to one shard, so end it first"
                        .formatted(asked, otherShard, shard));
        this.shard = shard;
        this.otherShard = otherShard;
    }

    /** The shard of the open transaction. */
    public int shard() {
        return shard;
    }

    /** The shard that the work asked for. */
    public int otherShard() {
        return otherShard;
    }
}
