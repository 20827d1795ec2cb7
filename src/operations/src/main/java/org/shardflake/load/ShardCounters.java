/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import org.jspecify.annotations.Nullable;

/**
 * The reads and writes of a shard's tables, as a server counted them at one time.
 *
 * @param server where they were counted
 * @param epoch of the shard's placement there
 * @param nanos when they were read, by {@link System#nanoTime}
 */
public record ShardCounters(String server, long epoch, long nanos, RowCounts rows) {

    /**
     * The rate between an earlier sample and this one, or null if unknown: counts of another placement are not comparable, even if none fell.
     */
    @Nullable
    ShardRate since(ShardCounters before) {
        if (!server.equals(before.server) || epoch != before.epoch || nanos <= before.nanos) {
            return null;
        }
        double seconds = (nanos - before.nanos) / 1e9;
        return rows.since(before.rows)
                .map(more -> new ShardRate(more.inserted() / seconds, more.written() / seconds, more.read() / seconds))
                .orElse(null);
    }
}
