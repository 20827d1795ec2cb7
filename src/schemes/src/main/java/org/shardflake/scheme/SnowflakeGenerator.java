/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.time.InstantSource;

/** Counts within a millisecond, and refuses a clock behind the last id. */
final class SnowflakeGenerator implements LongIdGenerator {

    /** The way in which a generator that has used up a millisecond waits for the next one. */
    enum Wait {
        UNTIL_LATER,
        UNTIL_DIFFERENT
    }

    private final String scheme;
    private final SnowflakeLayout layout;
    private final Worker worker;
    private final InstantSource clock;
    private final Wait wait;

    private long last = Long.MIN_VALUE;
    private int sequence;

    SnowflakeGenerator(String scheme, SnowflakeLayout layout, Worker worker, InstantSource clock, Wait wait) {
        this.scheme = scheme;
        this.layout = layout;
        this.worker = worker;
        this.clock = clock;
        this.wait = wait;
    }

    @Override
    public synchronized long nextLong() {
        worker.check();
        long now = clock.millis();
        if (now < last) {
            throw new ClockWentBackException(scheme, last - now);
        }
        sequence = now == last ? sequence + 1 & SnowflakeLayout.MAX_SEQUENCE : 0;
        if (now == last && sequence == 0) {
            now = waitForNext();
        }
        last = now;
        return layout.encode(now, worker.id(), sequence);
    }

    private long waitForNext() {
        long now = clock.millis();
        while (wait == Wait.UNTIL_LATER ? now <= last : now == last) {
            Thread.onSpinWait();
            now = clock.millis();
        }
        return now;
    }

    @Override
    public void close() throws SQLException {
        worker.close();
    }
}
