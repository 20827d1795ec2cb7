/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;
import java.util.Locale;
import org.shardflake.jdbc.Plural;

/**
 * Rows in a table that belong to another shard.
 *
 * @param shard the shard that contains them
 * @param table with its schema
 * @param column the column that shows it: the id or the uid
 * @param samples the primary keys of a few
 */
public record StrayRows(int shard, String server, String table, String column, long rows, List<String> samples) {

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "%s on %s has %s of other shards by their %s, such as %s",
                table,
                server,
                Plural.of(rows, "row"),
                column,
                String.join("; ", samples));
    }
}
