/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import java.util.Map;
import org.shardflake.ShardSet;
import org.shardflake.compare.TableDifference;

/**
 * One table of the old database, compared with its rows in the shards.
 *
 * @param table with its schema
 * @param into the table in the shards
 * @param rows how many rows the old table had that have a shard
 * @param shards how many shards were compared
 * @param differences the rows that differ, by shard, named by their primary keys
 * @param undecided the shards with rows that changed at every look, and may differ
 * @param withoutShard the primary keys of some rows that have no shard, since neither they nor the rows that they refer to have the key
 */
public record TableComparison(
        String table,
        String into,
        long rows,
        int shards,
        Map<Integer, TableDifference> differences,
        ShardSet undecided,
        List<String> withoutShard) {

    /** Whether the shards are known to have rows that differ from the table's. */
    public boolean differs() {
        return !differences.isEmpty() || !withoutShard.isEmpty();
    }
}
