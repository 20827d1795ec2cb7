/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

/**
 * The load of a shard between two samples, in rows per second.
 *
 * @param inserted rows, most of them with an id of their own
 * @param written rows inserted, updated and deleted
 * @param read rows of tables, by sequential and index scans
 */
public record ShardRate(double inserted, double written, double read) {

    public static final ShardRate NONE = new ShardRate(0, 0, 0);

    /** The sum of two loads. */
    public ShardRate plus(ShardRate other) {
        return new ShardRate(inserted + other.inserted, written + other.written, read + other.read);
    }
}
