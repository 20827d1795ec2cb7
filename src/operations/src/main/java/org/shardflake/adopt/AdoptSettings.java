/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import org.jspecify.annotations.Nullable;

/**
 * The table to adopt and how to adopt it.
 *
 * @param table the table, as SQL names it: {@code photo} or {@code app.photo}
 * @param into the table in the shards, without a schema and not quoted; null for the one of the same name
 * @param key the column that determines a row's shard, not quoted; null for the one that the shards' table says by a comment
 * @param batchRows how many rows are brought over at a time: 1..1000000
 */
public record AdoptSettings(
        String table, @Nullable String into, @Nullable String key, int batchRows) {

    /** Rows brought over at a time by default. */
    public static final int DEFAULT_BATCH_ROWS = 100_000;

    public AdoptSettings {
        if (batchRows < 1 || batchRows > 1_000_000) {
            throw new IllegalArgumentException("batch of %s rows is out of range 1..1000000".formatted(batchRows));
        }
    }
}
