/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.changes;

import java.util.List;

/**
 * The change stream of one server.
 *
 * @param server its name in the shard map
 * @param isThere whether the publication exists
 * @param tables how many tables it has
 * @param missing tables of shards of this server whose changes it does not send, in SQL
 * @param surplus tables whose changes it sends, though their shards are not this server's, in SQL
 * @param readers the slots of readers: those whose names begin with {@link ChangeStream#SLOT_PREFIX}
 */
public record ChangeStreamStatus(
        String server, boolean isThere, long tables, List<String> missing, List<String> surplus, List<Reader> readers) {

    public ChangeStreamStatus {
        missing = List.copyOf(missing);
        surplus = List.copyOf(surplus);
        readers = List.copyOf(readers);
    }

    /**
     * A reader's slot.
     *
     * @param isLost whether the server no longer has the write-ahead log that it needs
     * @param keptBytes how much write-ahead log the server keeps for it
     */
    public record Reader(String slot, boolean isActive, boolean isLost, long keptBytes) {}

    /** Whether the publication exists and contains exactly the right tables. */
    public boolean isCurrent() {
        return isThere && missing.isEmpty() && surplus.isEmpty();
    }
}
