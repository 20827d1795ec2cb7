/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import org.shardflake.router.exception.ScatterException;

/**
 * The outcome of a read on one of many shards.
 *
 * @param <T> the type that the read returns
 */
public sealed interface ShardResult<T> {

    /** The shard. */
    int shard();

    /** Returns the result of the read, or throws the {@link ScatterException} if it failed. */
    T get();

    /**
     * A read that succeeded.
     *
     * @param value the result of the read
     */
    record Value<T>(int shard, T value) implements ShardResult<T> {

        @Override
        public T get() {
            return value;
        }
    }

    /**
     * A read that failed.
     *
     * @param cause the reason
     */
    record Failure<T>(int shard, ScatterException cause) implements ShardResult<T> {

        @Override
        public T get() {
            throw cause;
        }
    }
}
