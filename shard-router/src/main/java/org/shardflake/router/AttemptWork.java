/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import org.jspecify.annotations.Nullable;

/**
 * Work on one shard whose transactions a framework begins and ends, run again from the start if the shard moves.
 *
 * @param <T> the type of the result
 * @param <X> the exception it may throw
 */
@FunctionalInterface
public interface AttemptWork<T extends @Nullable Object, X extends Exception> {

    /** Runs the work. */
    T run(ShardAttempt attempt) throws X;
}
