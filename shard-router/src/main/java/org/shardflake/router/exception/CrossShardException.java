/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.exception;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** Work inside a transaction on one shard asked for another shard, which the transaction cannot reach; nothing was done there. */
public final class CrossShardException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final int shard;
    private final int otherShard;

    /**
     * @param shard the shard of the open transaction or connection
     * @param otherShard the shard that the work asked for
     */
    public CrossShardException(String message, int shard, int otherShard) {
        super(message);
        this.shard = shard;
        this.otherShard = otherShard;
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
