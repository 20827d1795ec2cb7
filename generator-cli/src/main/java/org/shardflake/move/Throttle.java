/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.shardflake.jdbc.Sql;

/** Keeps copying to a rate, and waits for standbys of the target that are behind. Thread-safe. */
final class Throttle {

    private static final long NANOS_BETWEEN_LOOKS = 1_000_000_000L;

    private static final String LAG =
            "SELECT COALESCE(max(extract(epoch FROM replay_lag)), 0) > ? FROM pg_stat_replication WHERE state = 'streaming' AND application_name !~ '^shardflake_m[0-9]+_'";

    private final long bytesPerSecond;
    private final Duration maxLag;
    private long nextNanos = System.nanoTime();
    private long nextLook = System.nanoTime();

    Throttle(long bytesPerSecond, Duration maxLag) {
        this.bytesPerSecond = bytesPerSecond;
        this.maxLag = maxLag;
    }

    /** Waits for as long as these bytes may take. */
    void copied(long bytes) {
        if (bytesPerSecond > 0) {
            long wait = reserve(bytes);
            if (wait > 1_000_000) {
                Pause.millis(wait / 1_000_000);
            }
        }
    }

    private synchronized long reserve(long bytes) {
        long now = System.nanoTime();
        // What was not used for a while is not caught up with.
        nextNanos = Math.max(nextNanos, now - 100_000_000L) + bytes * 1_000_000_000L / bytesPerSecond;
        return nextNanos - now;
    }

    /** Waits while a standby is too far behind; looks once a second. */
    void awaitStandbys(Connection target) throws SQLException {
        if (isDue()) {
            while (Sql.isTrue(target, LAG, maxLag.toMillis() / 1000.0)) {
                Pause.millis(500);
            }
        }
    }

    private synchronized boolean isDue() {
        if (System.nanoTime() < nextLook) {
            return false;
        }
        nextLook = System.nanoTime() + NANOS_BETWEEN_LOOKS;
        return true;
    }
}
