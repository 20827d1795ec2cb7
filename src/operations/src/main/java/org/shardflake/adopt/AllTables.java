/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Combines the progress of several tables, and limits their rate. Thread-safe. */
final class AllTables {

    private static final long NANOS_A_SECOND = TimeUnit.SECONDS.toNanos(1);

    private final AdoptListener listener;
    private final int rowsPerSecond;
    private final long estimate;
    private final Map<String, Long> rows = new HashMap<>();
    private long changes;
    private long next = System.nanoTime();

    /** @param rowsPerSecond 0 for no limit */
    AllTables(AdoptListener listener, int rowsPerSecond, long estimate) {
        this.listener = listener;
        this.rowsPerSecond = rowsPerSecond;
        this.estimate = estimate;
    }

    /** The size of a batch: at most the rows of one second, so that the rate is kept by many short waits. */
    int batch(int wanted) {
        return rowsPerSecond == 0 ? wanted : Math.min(wanted, rowsPerSecond);
    }

    /** A listener for one table. */
    AdoptListener of(String table) {
        return new AdoptListener() {

            private long before;

            @Override
            public void copied(long all, long ignored) {
                pause(add(table, all));
            }

            @Override
            public void followed(long all) {
                follow(all - before);
                before = all;
            }

            @Override
            public void repaired(List<String> problems, boolean someLeft) {
                listener.repaired(problems, someLeft);
            }

            @Override
            public void brokenForeignKey(String key) {
                listener.brokenForeignKey(key);
            }
        };
    }

    private synchronized void follow(long more) {
        changes += more;
        listener.followed(changes);
    }

    /** Counts rows of a table; returns the nanoseconds to wait. */
    private synchronized long add(String table, long all) {
        // The first batch of a run reports what earlier runs have copied, too.
        long more = Math.min(all - rows.getOrDefault(table, 0L), rowsPerSecond);
        rows.put(table, all);
        long total = rows.values().stream().mapToLong(Long::longValue).sum();
        listener.copied(total, Math.max(total, estimate));
        if (rowsPerSecond == 0) {
            return 0;
        }
        long now = System.nanoTime();
        next = Math.max(next, now) + more * NANOS_A_SECOND / rowsPerSecond;
        return next - now;
    }

    private static void pause(long nanos) {
        try {
            TimeUnit.NANOSECONDS.sleep(nanos);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AdoptException("interrupted", e);
        }
    }
}
