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
 * @param table as SQL names it: {@code orders} or {@code shop.orders}
 * @param into the table in the shards, without a schema and not quoted; null for the one of the same name
 * @param key the column with the key, not quoted: the table's own, or the one that it has only in the shards; null, if there is no
 *     parent, for the column whose comment in the shards says so
 * @param columns the columns that refer to the rows with the key, not quoted; empty if the table has the key
 * @param parent the table that they refer to, which is adopted too; null if there are no such columns
 * @param parentColumns the columns there, in the same order
 */
public record AdoptTable(
        String table,
        @Nullable String into,
        @Nullable String key,
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

    /** A table that has the key itself, without columns that refer to others. */
    public static AdoptTable of(String table, @Nullable String into, @Nullable String key) {
        return new AdoptTable(table, into, key, List.of(), null, List.of());
    }
}
