/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

/**
 * What came of a read on one of many shards.
 *
 * @param <T> what the read returned
 */
public sealed interface ShardResult<T> {

    /** The shard. */
    int shard();

    /** What the read returned, or a {@link ScatterException} if it failed. */
    T get();

    /**
     * A read that went well.
     *
     * @param value what it returned
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
     * @param cause why
     */
    record Failure<T>(int shard, ScatterException cause) implements ShardResult<T> {

        @Override
        public T get() {
            throw cause;
        }
    }
}
