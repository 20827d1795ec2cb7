/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;

/**
 * The limits on retrying work that a server refused because the shard is moving.
 *
 * <p>Between tries the router waits for the new map, 2 ms at first and at most 100 ms, starting over with 2 ms at
 * another server. Immutable.
 *
 * @param maxTries the maximum number of runs, including the first: 1 or more
 * @param deadline how long after the first try another may begin
 * @param serializationFailures whether to also run work again that lost to another transaction (SQLSTATE 40001 or
 *     40P01)
 */
public record RetryPolicy(int maxTries, Duration deadline, boolean serializationFailures) {

    /** 500 tries within 30 seconds, serialization failures not retried. A cutover takes a tenth of a second. */
    public static final RetryPolicy DEFAULT = new RetryPolicy(500, Duration.ofSeconds(30), false);

    public RetryPolicy {
        if (maxTries < 1) {
            throw new IllegalArgumentException("maxTries is %s, allowed: 1 or more".formatted(maxTries));
        }
        if (deadline.isNegative()) {
            throw new IllegalArgumentException("deadline is %s, allowed: 0 or more".formatted(deadline));
        }
    }

    public RetryPolicy withMaxTries(int tries) {
        return new RetryPolicy(tries, deadline, serializationFailures);
    }

    public RetryPolicy withDeadline(Duration duration) {
        return new RetryPolicy(maxTries, duration, serializationFailures);
    }

    /** The same policy, with work also run again after serialization failures and deadlocks. */
    public RetryPolicy withSerializationFailures() {
        return new RetryPolicy(maxTries, deadline, true);
    }
}
