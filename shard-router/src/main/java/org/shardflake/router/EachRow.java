/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.router.internal.session.CancellableConnection;

/**
 * Hands over the rows of shards in the order of their ids, one shard after the other on each server.
 *
 * <p>A shard that moves meanwhile is gone on with on its new server, after the last row that was handed over.
 */
final class EachRow<T> {

    /** The number of rows held in memory for each server. */
    private static final int ROWS_AT_A_TIME = 1000;

    private final ShardQuery<T> query;
    private final Consumer<? super T> action;
    private final RowHandOver handOver = new RowHandOver();
    /** The last id of each shard whose row was handed over, as were all before it. */
    private final Map<Integer, Long> reached = new ConcurrentHashMap<>();

    EachRow(ShardQuery<T> query, Consumer<? super T> action) {
        this.query = query;
        this.action = action;
    }

    /** The exception thrown by the action, if any. */
    @Nullable
    RuntimeException failure() {
        return handOver.failure();
    }

    /** Stops handing over rows. */
    void end() {
        handOver.end();
    }

    /** Reads some shards of one server, and returns their number. */
    int read(CancellableConnection connection, List<Integer> shards) throws SQLException {
        // The driver fetches some rows at a time only in a transaction.
        connection.connection().setReadOnly(true);
        connection.connection().setAutoCommit(false);
        for (int shard : shards) {
            if (reached.getOrDefault(shard, Long.MIN_VALUE) != Long.MAX_VALUE) {
                connection.run(() -> readShard(connection.connection(), shard));
                connection.connection().rollback();
                reached.put(shard, Long.MAX_VALUE);
            }
        }
        return shards.size();
    }

    private int readShard(Connection connection, int shard) throws SQLException {
        String sql = "SELECT * FROM (%s) AS rows WHERE id OPERATOR(pg_catalog.>) ? ORDER BY id"
                .formatted(query.sql(Sharding.schema(shard)));
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setFetchSize(ROWS_AT_A_TIME);
            statement.setLong(query.bindTo(statement, 1), reached.getOrDefault(shard, Long.MIN_VALUE));
            ResultSet row = statement.executeQuery();
            // An id that a join gives several times is handed over as one: a read that is gone on with begins after it.
            List<T> same = new ArrayList<>();
            long id = 0;
            while (row.next()) {
                long next = row.getLong("id");
                if (next != id) {
                    handOver(shard, id, same);
                }
                id = next;
                same.add(query.mapper().map(row));
            }
            handOver(shard, id, same);
        }
        return shard;
    }

    private void handOver(int shard, long id, List<T> same) {
        for (int i = 0; i < same.size(); i++) {
            T row = same.get(i);
            boolean isFirst = i == 0;
            handOver.run(() -> {
                if (isFirst) {
                    reached.put(shard, id);
                }
                action.accept(row);
            });
        }
        same.clear();
    }
}
