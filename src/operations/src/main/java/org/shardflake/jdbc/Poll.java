/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import org.shardflake.ShardflakeException;

/**
 * A wait for something on a server, which is asked again and again.
 *
 * @param every the pause between two questions
 * @param atMost how long to go on
 */
public record Poll(Duration every, Duration atMost) {

    /** What is waited for. */
    @FunctionalInterface
    public interface Condition {
        boolean holds() throws SQLException;
    }

    /** Poll every so many milliseconds. */
    public static Poll everyMillis(long millis, Duration atMost) {
        return new Poll(Duration.ofMillis(millis), atMost);
    }

    /**
     * Whether the condition came to hold in time.
     *
     * @throws ShardflakeException if the thread is interrupted, whose flag is set then as before
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
