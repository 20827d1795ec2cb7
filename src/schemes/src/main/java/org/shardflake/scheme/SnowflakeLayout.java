/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;

/** The layout with 41 bits for milliseconds since an epoch, 10 for a node and 12 for a sequence. */
record SnowflakeLayout(long epochMillis) {

    static final int MAX_NODE = 1023;
    static final int MAX_SEQUENCE = 4095;
    private static final long MAX_ELAPSED = (1L << 41) - 1;

    long encode(long timeMillis, long node, int sequence) {
        long elapsed = timeMillis - epochMillis;
        // The published code would shift into the sign bit.
        if (elapsed < 0 || elapsed > MAX_ELAPSED) {
            throw new IllegalArgumentException("time %s is out of range %s..%s"
                    .formatted(
                            Instant.ofEpochMilli(timeMillis),
                            Instant.ofEpochMilli(epochMillis),
                            Instant.ofEpochMilli(epochMillis + MAX_ELAPSED)));
        }
        return elapsed << 22 | node << 12 | sequence;
    }

    long timeMillis(long id) {
        return epochMillis + (id >>> 22);
    }

    static int node(long id) {
        return (int) (id >>> 12) & MAX_NODE;
    }

    static int sequence(long id) {
        return (int) id & MAX_SEQUENCE;
    }
}
