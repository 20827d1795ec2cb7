/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import org.jspecify.annotations.Nullable;

/**
 * Work in one transaction on one shard, run again from the start when the shard moved under it.
 *
 * <p>So it must not leave traces outside the transaction that a second run would repeat: no message sent, no counter
 * increased.
 *
 * @param <T> what it returns
 * @param <X> what it may throw; left to inference, that is what its statements throw
 */
@FunctionalInterface
public interface ShardWork<T extends @Nullable Object, X extends Exception> {

    /** Does the work. To return commits; to throw rolls back. */
    T run(ShardTransaction tx) throws X;
}
