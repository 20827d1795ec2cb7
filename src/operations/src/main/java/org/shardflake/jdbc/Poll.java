/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import java.util.function.Consumer;
import org.shardflake.ShardflakeException;

/**
 * Waits for a condition on a server by checking it repeatedly.
 *
 * @param every the pause between two checks
 * @param atMost how long to keep checking
 */
public record Poll(Duration every, Duration atMost) {

    /** The time after which a wait is reported. */
    private static final Duration VOICE = Duration.ofSeconds(1);

    /** The condition to wait for. */
    @FunctionalInterface
    public interface Condition {
        boolean holds() throws SQLException;
    }

    /** A poll that checks at this interval, in milliseconds. */
    public static Poll everyMillis(long millis, Duration atMost) {
        return new Poll(Duration.ofMillis(millis), atMost);
    }

    /**
     * Waits; returns whether the condition was met in time.
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

    /** The reason for a wait, in words. */
    @FunctionalInterface
    public interface Reason {
        String get() throws SQLException;
    }

    /**
     * Waits, and reports a long wait; returns whether the condition was met in time. Once it has not for a second, tells why, and again when
     * that changes.
     *
     * @throws ShardflakeException if the thread is interrupted; its flag is set again
     */
    public boolean until(Condition condition, Reason reason, Consumer<String> listener) throws SQLException {
        String[] told = {""};
        long[] next = {System.nanoTime() + VOICE.toNanos()};
        return until(() -> {
            boolean holds = condition.holds();
            if (!holds && System.nanoTime() - next[0] > 0) {
                next[0] = System.nanoTime() + VOICE.toNanos();
                String now = reason.get();
                if (!now.equals(told[0])) {
                    told[0] = now;
                    listener.accept(now);
                }
            }
            return holds;
        });
    }

    private void pause() {
        try {
            Thread.sleep(every.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ShardflakeException("interrupted; run the same command again to continue", e);
        }
    }
}
