/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

/**
 * {@link ShardWork} that returns nothing.
 *
 * @param <X> what it may throw; left to inference, that is what its statements throw
 */
@FunctionalInterface
public interface ShardAction<X extends Exception> {

    /** Does the work. To return commits; to throw rolls back. */
    void run(ShardTransaction tx) throws X;
}
