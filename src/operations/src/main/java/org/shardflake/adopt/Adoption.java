/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * An adoption as recorded in the table's database.
 *
 * @param id its number, the suffix of the names of its objects
 * @param installation the installation whose shards receive the rows
 * @param copiedTo the primary key of the last copied row, as text; null before the first
 * @param copiedRows how many rows have been copied
 */
record Adoption(
        int id,
        UUID installation,
        String into,
        String key,
        int shardCount,
        AdoptState state,
        @Nullable List<String> copiedTo,
        long copiedRows,
        @Nullable UUID mark) {}
