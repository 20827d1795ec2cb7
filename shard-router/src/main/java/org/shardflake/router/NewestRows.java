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
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.shardflake.router.internal.session.CancellableConnection;

/**
 * Finds the newest rows of all shards, some shards at a time.
 *
 * <p>An id begins with its time, so the order of ids is the order of time across shards too. Once enough rows are
 * known, shards are asked only for rows newer than the oldest of those, and most have none.
 */
final class NewestRows<T> {

    private record Row<T>(long id, T value) {}

    private final StatementCache texts;
    private final ShardQuery<T> query;
    private final long before;
    private final int limit;
    private final ReentrantLock lock = new ReentrantLock();
    private final PriorityQueue<Row<T>> newest = new PriorityQueue<>(Comparator.comparingLong(Row<T>::id));

    NewestRows(StatementCache texts, ShardQuery<T> query, long before, int limit) {
        this.texts = texts;
        this.query = query;
        this.before = before;
        this.limit = limit;
    }

    /** Reads some shards of one server; returns the number of statements. */
    int read(CancellableConnection connection, List<Integer> shards) throws SQLException {
        List<List<Integer>> parts = UnionOfShards.parts(shards);
        for (List<Integer> some : parts) {
            add(connection.run(() -> readSome(connection.connection(), some)));
        }
        return parts.size();
    }

    private List<Row<T>> readSome(Connection connection, List<Integer> shards) throws SQLException {
        String sql = texts.of(query, shards, this::text);
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            UnionOfShards.prepareOnServer(statement);
            bind(statement, query.isColumnsOfATable() ? 1 : shards.size());
            List<Row<T>> rows = new ArrayList<>();
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    rows.add(new Row<>(row.getLong("id"), query.mapper().map(row)));
                }
            }
            return rows;
        }
    }

    /** Binds the query's own parameters, if it has any, and the bounds in each place. */
    private void bind(PreparedStatement statement, int places) throws SQLException {
        long oldest = oldestNeeded();
        int position = 1;
        for (int place = 0; place < places; place++) {
            position = query.bindTo(statement, position);
            statement.setLong(position++, oldest);
            statement.setLong(position++, before);
        }
    }

    private String text(Stream<String> arms) {
        if (query.isColumnsOfATable()) {
            // PostgreSQL pushes the condition into each arm and merges the primary keys from their ends: half the cost
            // of the form below.
            return newest(UnionOfShards.union(arms));
        }
        // It would sort all rows of a join; only an order and a limit in each arm make it find the newest by the index.
        return "SELECT * FROM (%s) AS newest ORDER BY id DESC LIMIT %s"
                .formatted(UnionOfShards.union(arms.map(this::newest)), limit);
    }

    private String newest(String rows) {
        return "SELECT * FROM (%s) AS rows WHERE id OPERATOR(pg_catalog.>=) ? AND id OPERATOR(pg_catalog.<) ? ORDER BY id DESC LIMIT %s"
                .formatted(rows, limit);
    }

    private long oldestNeeded() {
        lock.lock();
        try {
            Row<T> oldest = newest.size() < limit ? null : newest.peek();
            return oldest == null ? Long.MIN_VALUE : oldest.id();
        } finally {
            lock.unlock();
        }
    }

    private void add(List<Row<T>> rows) {
        lock.lock();
        try {
            for (Row<T> row : rows) {
                if (newest.stream().noneMatch(known -> known.id() == row.id())) {
                    newest.add(row);
                }
                if (newest.size() > limit) {
                    newest.remove();
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** The rows, newest first. */
    List<T> inOrder() {
        return newest.stream()
                .sorted(Comparator.comparingLong(Row<T>::id).reversed())
                .map(Row::value)
                .toList();
    }
}
