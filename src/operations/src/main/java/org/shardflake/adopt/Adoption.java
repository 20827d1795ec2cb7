/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * An adoption as it is recorded in the database that the table is in.
 *
 * @param id its number, which the names of its objects end in
 * @param installation the one whose shards the rows go into
 * @param copiedTo the primary key of the last row copied, as text; null before the first
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
        long copiedRows) {}
