/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.util.Comparator;

/**
 * The identity of a change, the same each time that it is read. Those of one shard are ordered as the changes were committed. A snapshot and
 * its rows come before the changes that follow them; a snapshot that is taken again may give other rows the same identities.
 *
 * @param shard 0..8191
 * @param epoch of the shard map, which grows with each change of the shard's server
 * @param lsn the position of its transaction's commit in that server's log, in bytes; for a snapshot, one before its changes; for a record of Debezium,
 *     the position of the change itself, so that only the changes of one row are in order
 * @param number its place in the transaction, from 1, or in the snapshot, from 0; for a record of Debezium, the place among the changes of that position, or 0
 */
public record EventId(int shard, long epoch, long lsn, long number) implements Comparable<EventId> {

    private static final Comparator<EventId> ORDER = Comparator.comparingInt(EventId::shard)
            .thenComparingLong(EventId::epoch)
            .thenComparing(EventId::lsn, Long::compareUnsigned)
            .thenComparingLong(EventId::number);

    @Override
    public int compareTo(EventId other) {
        return ORDER.compare(this, other);
    }

    /** The identity as text, for example {@code 7/12/0-16B3748/2}. */
    @Override
    public String toString() {
        return "%s/%s/%X-%X/%s".formatted(shard, epoch, lsn >>> 32, lsn & 0xFFFFFFFFL, number);
    }
}
