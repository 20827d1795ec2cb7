/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import org.jspecify.annotations.Nullable;

/**
 * Work in one transaction on one shard, run again from the start if the shard moves.
 *
 * <p>It must therefore have no effects outside the transaction that a second run would repeat: send no message,
 * increase no counter.
 *
 * @param <T> the type of the result
 * @param <X> the exception it may throw; if inferred, that of its statements
 */
@FunctionalInterface
public interface ShardWork<T extends @Nullable Object, X extends Exception> {

    /** Runs the work. Returning commits; throwing rolls back. */
    T run(ShardTransaction tx) throws X;
}
