/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One table of a database to adopt, and how its rows find their shards.
 *
 * @param table as SQL names it, with its schema: {@code shop.orders}
 * @param into the table in the shards, without a schema and not quoted
 * @param key the column with the key, not quoted: the table's own, or the one that it has only in the shards
 * @param columns the columns that refer to the rows with the key, not quoted; empty if the table has the key
 * @param parent the table that they refer to, which is adopted too; null if there are no such columns
 * @param parentColumns the columns there, in the same order
 */
public record AdoptTable(
        String table,
        String into,
        String key,
        List<String> columns,
        @Nullable String parent,
        List<String> parentColumns) {

    public AdoptTable {
        columns = List.copyOf(columns);
        parentColumns = List.copyOf(parentColumns);
        if (columns.size() != parentColumns.size() || columns.isEmpty() != (parent == null)) {
            throw new IllegalArgumentException("%s has %s columns that refer to %s of %s"
                    .formatted(table, columns.size(), parentColumns.size(), parent));
        }
    }
}
