/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A change of one row in a shard, or of a whole table that was emptied; for readers with a snapshot, also the start and the rows of a shard's
 * snapshot.
 *
 * @param id its identity, to tell whether it was applied before
 * @param server that sent it
 * @param kind what was done
 * @param table the table's name, without its schema, which is the shard; empty for {@link Kind#SNAPSHOT}
 * @param row the row as it is now, by column, as text; a large value that an update did not change is missing. Empty for deletes
 * @param key the values by which the row was identified before the change: of the primary key, or of the whole row for a table with
 *     {@code REPLICA IDENTITY FULL}. Empty for inserts and rows of a snapshot
 * @param committedAt by the clock of that server; for a snapshot, when that was taken
 * @param position of the change in that server's log, in bytes, as Debezium's records have it; 0 for a snapshot
 * @param isLast whether it is the last one of its transaction, or of its shard's snapshot
 */
public record Change(
        EventId id,
        String server,
        Kind kind,
        String table,
        Map<String, @Nullable String> row,
        Map<String, @Nullable String> key,
        Instant committedAt,
        long position,
        boolean isLast) {

    /** The kinds of changes. */
    public enum Kind {
        INSERT,
        UPDATE,
        DELETE,
        /** All rows of the table were deleted. */
        TRUNCATE,
        /**
         * A snapshot of the shard begins, followed by its rows and then by the changes that it does not include. What the consumer has of the
         * shard is void, for example the rows of a snapshot that was interrupted.
         */
        SNAPSHOT,
        /** A row that the shard had when its snapshot was taken. */
        ROW
    }

    public Change {
        row = Collections.unmodifiableMap(new LinkedHashMap<>(row));
        key = Collections.unmodifiableMap(new LinkedHashMap<>(key));
    }

    Change asLast() {
        return new Change(id, server, kind, table, row, key, committedAt, position, true);
    }
}
