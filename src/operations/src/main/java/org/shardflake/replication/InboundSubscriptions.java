/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.replication;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/**
 * The user's own subscriptions that write rows into shards. Their changes pass the fence, as replication does, so they would keep writing to a
 * copy that a shard has left.
 */
public final class InboundSubscriptions {

    /** The remedy for such subscriptions. */
    public static final String REMEDY =
            "Drop them, or ALTER SUBSCRIPTION ... REFRESH PUBLICATION without these tables, and make them again on the target when the move is complete";

    /** Finds subscriptions, enabled or not: a disabled one can be enabled at any time. A partitioned table stands for its partitions. */
    private static final String FIND = """
            SELECT DISTINCT format('subscription %s writes to %s', s.subname, r.srrelid::regclass)
              FROM pg_subscription_rel r JOIN pg_subscription s ON s.oid = r.srsubid
             WHERE s.subname !~ '^shardflake_m[0-9]+_[0-9a-f]+_(forward|reverse)$'
               AND EXISTS (
                   SELECT FROM pg_partition_tree(r.srrelid) p JOIN pg_class c ON c.oid = COALESCE(p.relid, r.srrelid)
                     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (?)
                   UNION ALL
                   SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = r.srrelid AND n.nspname = ANY (?))
             ORDER BY 1
            """;

    private InboundSubscriptions() {}

    /** A server's subscriptions into these shards, one line per table. */
    public static List<String> find(Connection connection, ShardSet shards) throws SQLException {
        return Sql.list(connection, FIND, row -> row.getString(1), shards, shards);
    }
}
