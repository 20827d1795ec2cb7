/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import org.shardflake.ShardflakeException;

/**
 * A wait for a condition on a server, which is checked repeatedly.
 *
 * @param every the pause between two checks
 * @param atMost how long to keep checking
 */
public record Poll(Duration every, Duration atMost) {

    /** The condition. */
    @FunctionalInterface
    public interface Condition {
        boolean holds() throws SQLException;
    }

    /** Checks at this interval, in milliseconds. */
    public static Poll everyMillis(long millis, Duration atMost) {
        return new Poll(Duration.ofMillis(millis), atMost);
    }

    /**
     * Returns whether the condition came to hold in time.
     *
     * @throws ShardflakeException if the thread is interrupted; its flag is set again
     */
    public boolean until(Condition condition) throws SQLException {
        long end = System.nanoTime() + atMost.toNanos();
        while (!condition.holds()) {
            if (System.nanoTime() - end > 0) {
                return false;
            }
            pause();
        }
        return true;
    }

    private void pause() {
        try {
            Thread.sleep(every.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ShardflakeException("interrupted; the same command goes on from where this stands", e);
        }
    }
}
