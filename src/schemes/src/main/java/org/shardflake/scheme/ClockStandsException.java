/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.io.Serial;
import java.time.Instant;
import org.shardflake.ShardflakeException;

/** The clock stands still, and the scheme has used up the ids of this moment. */
public final class ClockStandsException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final long timeMillis;

    ClockStandsException(String scheme, long timeMillis) {
        super("the clock stands at %s, and %s has no more ids for that millisecond"
                .formatted(Instant.ofEpochMilli(timeMillis), scheme));
        this.timeMillis = timeMillis;
    }

    /** The time at which the clock has stopped, in UTC milliseconds since 1970. */
    public long timeMillis() {
        return timeMillis;
    }
}
