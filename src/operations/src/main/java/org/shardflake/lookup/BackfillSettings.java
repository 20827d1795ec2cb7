/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

/**
 * The settings of a backfill.
 *
 * @param threads how many shards to read at a time: 1 or more
 * @param rowsPerSecond how many rows to bring in at most; 0 for no limit
 */
public record BackfillSettings(int threads, int rowsPerSecond) {

    /** The default settings: 4 threads, no rate limit. */
    public static final BackfillSettings DEFAULT = new BackfillSettings(4, 0);

    public BackfillSettings {
        if (threads < 1 || rowsPerSecond < 0) {
            throw new IllegalArgumentException("threads are %s and rows per second %s, allowed: 1 or more, 0 or more"
                    .formatted(threads, rowsPerSecond));
        }
    }
}
