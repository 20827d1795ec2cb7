/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.SqlText;

/**
 * The open transactions that may have written to a table of a shard, or locked a row of it. What they wrote is not seen yet, so whoever
 * has to see all that was written before a moment waits for those of that moment. Others are not held up meanwhile.
 */
final class OpenWriters {

    /**
     * Finds transactions that hold locks on a table; a direct write to a partition locks only the partition. A prepared transaction has no
     * process.
     */
    private static final String WRITERS = """
            SELECT l.virtualtransaction, COALESCE(l.pid, 0) FROM pg_catalog.pg_locks l
             WHERE l.locktype = 'relation' AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
               AND l.mode IN ('RowShareLock', 'RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
               AND l.relation IN (
                    SELECT pg_catalog.to_regclass(?)::oid
                     UNION ALL
                    SELECT relid::oid FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass(?)))
            """;

    private final ShardRouter router;
    private final Duration patience;

    /** @param patience how long to wait for a transaction */
    OpenWriters(ShardRouter router, Duration patience) {
        this.router = router;
        this.patience = patience;
    }

    /**
     * Waits for the transactions that have written to the table so far.
     *
     * @throws ShardflakeException if one does not end in time
     */
    void await(int shard, String table) throws SQLException {
        Map<String, Integer> before = writers(shard, table);
        boolean ended = before.isEmpty()
                || Poll.everyMillis(5, patience).until(() -> {
                    before.keySet().retainAll(writers(shard, table).keySet());
                    return before.isEmpty();
                });
        if (!ended) {
            int process = before.values().iterator().next();
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "%s, which has written to %s.%s, has not ended in %s s"
                            .formatted(
                                    process == 0
                                            ? "a prepared transaction"
                                            : "the transaction of process %s on %s"
                                                    .formatted(
                                                            process,
                                                            router.map()
                                                                    .server(shard)
                                                                    .name()),
                                    Sharding.schema(shard),
                                    table,
                                    patience.toSeconds()),
                    "end it, and run the same command again",
                    null);
        }
    }

    private Map<String, Integer> writers(int shard, String table) throws SQLException {
        return router.<Map<String, Integer>, SQLException>write(ShardKey.shard(shard), tx -> {
            Connection connection = tx.connection();
            String name = "%s.%s".formatted(tx.schema(), SqlText.name(table));
            Map<String, Integer> writers = new TreeMap<>();
            List<Map.Entry<String, Integer>> rows =
                    Sql.list(connection, WRITERS, row -> Map.entry(row.getString(1), row.getInt(2)), name, name);
            rows.forEach(row -> writers.put(row.getKey(), row.getValue()));
            return writers;
        });
    }
}
