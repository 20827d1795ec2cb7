/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.jdbc.Sql;

/**
 * The checks that keep rows of other shards out of new tables: one for ids, and one for the uid if its column is known.
 *
 * @param wanted whether new tables get them
 * @param uidColumn the column that holds the uid, to be recorded on the servers; null keeps what they have recorded
 * @param shardCount how many shards the installation has, to be recorded; 0 keeps what they have recorded
 */
public record RowChecks(boolean wanted, @Nullable String uidColumn, int shardCount) {

    /** Checks for ids, and for the uid as recorded on the servers. */
    public static final RowChecks RECORDED = new RowChecks(true, null, 0);

    private static final String RECORD = """
            INSERT INTO shardflake.uid_column AS u (column_name, shard_count) VALUES (?, ?)
            ON CONFLICT (only_row) DO UPDATE SET column_name = COALESCE(excluded.column_name, u.column_name), shard_count = excluded.shard_count
            """;

    /** The same checks for an installation with this many shards, unless their number is already set. */
    public RowChecks in(int shards) {
        return shardCount > 0 ? this : new RowChecks(wanted, uidColumn, shards);
    }

    /**
     * Records the uid's column and the number of shards on the servers; without a given column, copies the recorded one to servers that lack
     * it.
     */
    void record(Collection<Connection> servers) throws SQLException {
        if (shardCount > 0) {
            for (Connection server : servers) {
                Sql.update(server, RECORD, uidColumn, shardCount);
            }
        }
        if (uidColumn != null) {
            return;
        }
        Set<RowChecks> known = new LinkedHashSet<>();
        for (Connection server : servers) {
            known.addAll(recorded(server));
        }
        if (known.size() == 1) {
            known.iterator().next().record(servers);
        }
    }

    private static List<RowChecks> recorded(Connection server) throws SQLException {
        return Sql.list(
                server,
                "SELECT column_name, shard_count FROM shardflake.uid_column WHERE column_name IS NOT NULL",
                row -> new RowChecks(true, row.getString(1), row.getInt(2)));
    }
}
