/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * A shard's state on a server.
 *
 * @param tables how many tables it has
 * @param unguarded how many of them have no fence
 * @param closed how many refuse writes
 * @param open how many have a fence and take writes
 * @param odd how many have a fence that is down while its trigger is enabled, or that goes up when it is, as with an earlier library
 */
public record ShardState(int shard, int tables, int unguarded, int closed, int open, int odd) {

    /** A query with a row for each shard of the server that runs it. */
    public static final String QUERY = """
            SELECT right(n.nspname, 4)::integer, count(c.oid), count(c.oid) FILTER (WHERE t.oid IS NULL),
                   count(*) FILTER (WHERE t.fenced), count(*) FILTER (WHERE NOT t.fenced), count(*) FILTER (WHERE t.odd)
              FROM pg_namespace n
              LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p')
              LEFT JOIN LATERAL (
                   SELECT oid, tgenabled IN ('O', 'A') AND tgargs <> 'down\\000' AS fenced, -- see fence_write
                          tgenabled = 'D' AND tgnargs = 0 OR tgenabled <> 'D' AND tgargs = 'down\\000' AS odd
                     FROM pg_trigger WHERE tgrelid = c.oid AND tgfoid = to_regproc('shardflake.fence_write')) t ON true
             WHERE n.nspname ~ '^shard_[0-9]{4}$' GROUP BY n.nspname
            """;

    /** Reads a row of {@link #QUERY}. */
    public static ShardState read(ResultSet row) throws SQLException {
        return new ShardState(row.getInt(1), row.getInt(2), row.getInt(3), row.getInt(4), row.getInt(5), row.getInt(6));
    }

    /** Whether any table accepts writes. */
    public boolean takesWrites() {
        return open + unguarded > 0;
    }

    /** Whether any table refuses writes. */
    public boolean refusesWrites() {
        return closed > 0;
    }
}
