/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import org.shardflake.ShardKey;

/**
 * A row that a {@link Lookup} finds.
 *
 * @param uid leads to the row's shard
 */
public record LookupEntry(long uid, long id) {

    /** The key to read the row with. */
    public ShardKey key() {
        return ShardKey.uid(uid);
    }
}
