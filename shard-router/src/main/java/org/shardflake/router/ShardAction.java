/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

/**
 * {@link ShardWork} that returns nothing.
 *
 * @param <X> the exception it may throw; if inferred, that of its statements
 */
@FunctionalInterface
public interface ShardAction<X extends Exception> {

    /** Runs the work. Returning commits; throwing rolls back. */
    void run(ShardTransaction tx) throws X;
}
