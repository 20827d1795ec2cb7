/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import org.jspecify.annotations.Nullable;

/**
 * What is adopted, and how.
 *
 * @param table the table, as SQL names it: {@code photo} or {@code app.photo}
 * @param into the table of the shards, without a schema and not quoted; null for the one of the same name
 * @param key the column that the shard of a row follows from, not quoted
 * @param batchRows how many rows are brought over at a time: 1..1000000
 */
public record AdoptSettings(String table, @Nullable String into, String key, int batchRows) {

    /** How many rows are brought over at a time if nothing else is said. */
    public static final int DEFAULT_BATCH_ROWS = 100_000;

    public AdoptSettings {
        if (batchRows < 1 || batchRows > 1_000_000) {
            throw new IllegalArgumentException("batch of %d rows is out of range 1..1000000".formatted(batchRows));
        }
    }
}
