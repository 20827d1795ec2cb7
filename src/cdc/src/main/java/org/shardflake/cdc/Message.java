/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A message of a server. */
sealed interface Message {

    /**
     * The beginning of a transaction.
     *
     * @param commit the position of its commit in the log
     * @param xid the lower half of its number
     */
    record Begin(long commit, Instant committedAt, int xid) implements Message {}

    record Commit(long end) implements Message {}

    record Table(int relation, String schema, String name, List<String> columns, List<Boolean> keys)
            implements Message {}

    record Row(Change.Kind kind, Table table, Map<String, @Nullable String> row, Map<String, @Nullable String> key)
            implements Message {}

    record Truncate(List<Table> tables) implements Message {}

    /** A line of the journal. */
    record Journal(String content) implements Message {}

    /** A message that means nothing to a reader. */
    record Other() implements Message {}
}
