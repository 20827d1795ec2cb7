/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntPredicate;
import java.util.function.ObjIntConsumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.router.exception.ScatterException;
import org.shardflake.router.internal.session.CancellableConnection;
import org.shardflake.router.internal.session.LeasedConnection;

/**
 * Hands over the rows of any query, as servers send them, some shards in one statement.
 *
 * <p>Without an order there is no place to go on from. So a statement that fails before its first row is run again, also where a shard has
 * moved to; one that fails later is not, and its shards stay unread.
 */
final class EachRowOfShards<T> {

    /** The number of rows held in memory for each server. */
    private static final int ROWS_AT_A_TIME = 1000;

    private final ShardQuery<T> query;
    private final ObjIntConsumer<? super T> action;
    private final RowHandOver handOver = new RowHandOver();
    private final Set<Integer> done = ConcurrentHashMap.newKeySet();
    private final Set<Integer> begun = ConcurrentHashMap.newKeySet();

    EachRowOfShards(ShardQuery<T> query, ObjIntConsumer<? super T> action) {
        this.query = query;
        this.action = action;
    }

    @Nullable
    RuntimeException failure() {
        return handOver.failure();
    }

    /** Stops handing over rows. */
    void end() {
        handOver.end();
    }

    /** The shards whose rows have not all been handed over. */
    List<Integer> unread(List<Integer> shards) {
        return shards.stream().filter(shard -> !done.contains(shard)).toList();
    }

    /**
     * Reads shards of one server, skips those that have moved away, and returns the number read.
     *
     * @param isHere whether a shard is on this server, as far as is known now
     */
    int read(CancellableConnection connection, List<Integer> shards, IntPredicate isHere) throws SQLException {
        // The driver fetches some rows at a time only in a transaction.
        connection.connection().setReadOnly(true);
        connection.connection().setAutoCommit(false);
        List<Integer> left = unread(shards);
        if (left.isEmpty()) {
            return 0;
        }
        UnaryOperator<String> inSchema = inSchema(connection.connection(), left.get(0));
        List<List<Integer>> parts =
                inSchema == null ? left.stream().map(List::of).toList() : UnionOfShards.parts(left);
        for (List<Integer> part : parts) {
            List<Integer> some = part.stream().filter(isHere::test).toList();
            if (!some.isEmpty()) {
                connection.run(() -> {
                    readSome(connection.connection(), some, inSchema);
                    return some;
                });
                connection.connection().rollback();
                done.addAll(some);
            }
        }
        return left.size();
    }

    /** A function that puts a shard's schema into the query's text; null if only the search_path tells which tables the query names. */
    private @Nullable UnaryOperator<String> inSchema(LeasedConnection connection, int shard) throws SQLException {
        return query.namesSchema() ? query::sql : connection.qualifier(query.template(), shard);
    }

    private void readSome(LeasedConnection connection, List<Integer> shards, @Nullable UnaryOperator<String> inSchema)
            throws SQLException {
        if (inSchema == null) {
            connection.searchShard(shards.get(0));
        }
        Stream<String> arms = shards.stream().map(shard -> {
            String sql = inSchema == null ? query.sql(Sharding.schema(shard)) : inSchema.apply(Sharding.schema(shard));
            return "SELECT rows.*, %s FROM (%s\n) AS rows".formatted(shard, sql);
        });
        try {
            readSome(connection, UnionOfShards.union(arms), shards.size());
        } catch (SQLException e) {
            if (shards.stream().anyMatch(begun::contains)) {
                throw ScatterException.cutShort(e);
            }
            throw e;
        }
    }

    private void readSome(LeasedConnection connection, String sql, int arms) throws SQLException {
        // Without values it is no prepared statement, in which the driver would take operators such as ? for places of
        // values.
        if (!query.hasParameters()) {
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(ROWS_AT_A_TIME);
                handOver(statement.executeQuery(sql));
            }
            return;
        }
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setFetchSize(ROWS_AT_A_TIME);
            int position = 1;
            for (int i = 0; i < arms; i++) {
                position = query.bindTo(statement, position);
            }
            handOver(statement.executeQuery());
        }
    }

    private void handOver(ResultSet row) throws SQLException {
        int column = row.getMetaData().getColumnCount();
        while (row.next()) {
            int shard = row.getInt(column);
            T mapped = query.mapper().map(row);
            begun.add(shard);
            handOver.run(() -> action.accept(mapped, shard));
        }
    }
}
