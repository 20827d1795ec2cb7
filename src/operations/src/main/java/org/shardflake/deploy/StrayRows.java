/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;

/**
 * Rows of a table that are of other shards than the one they are in.
 *
 * @param shard the one they are in
 * @param table with its schema
 * @param column the one that says so: the id or the uid
 * @param samples primary keys of a few
 */
public record StrayRows(int shard, String server, String table, String column, long rows, List<String> samples) {

    @Override
    public String toString() {
        return "%s on %s has %,d rows of other shards by their %s, such as %s"
                .formatted(table, server, rows, column, String.join("; ", samples));
    }
}
