/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import org.jooq.DSLContext;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.ShardWork;

/**
 * {@link ShardWork} in jOOQ: one transaction on one shard, run again from the start when the shard moved.
 *
 * @param <T> the type of the result
 * @param <X> the exception it may throw besides jOOQ's own, which are unchecked
 */
@FunctionalInterface
public interface DslWork<T extends @Nullable Object, X extends Exception> {

    /** Runs the work. Returning commits; throwing rolls back. */
    T run(DSLContext dsl) throws X;
}
