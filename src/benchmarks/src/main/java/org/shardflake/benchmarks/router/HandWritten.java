/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.postgresql.PGStatement;
import org.shardflake.benchmarks.router.Peer.Photo;

/** Plain JDBC without a library: by id in one shard, and for many shards a few statements per server, the servers in parallel. */
final class HandWritten implements AutoCloseable {

    /** The number of shards in one statement for their newest rows; for all of them the server would plan too long. */
    private static final int SHARDS_A_STATEMENT = 100;

    private static final Comparator<Photo> NEWEST_FIRST =
            Comparator.comparingLong(Photo::id).reversed();

    private static final String COLUMNS = "SELECT id, uid, title FROM ";

    private final Layout layout;
    private final ExecutorService executor = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "by-hand");
        thread.setDaemon(true);
        return thread;
    });
    /** The statements for each server, with the same text each time, so that the server can reuse its plan. */
    private final List<List<String>> newest;

    HandWritten(Layout layout, int limit) {
        this.layout = layout;
        this.newest = IntStream.range(0, layout.servers().size())
                .mapToObj(server -> newestStatements(layout.shardsOf(server), limit))
                .toList();
    }

    /** Work with a connection to a server, counted from 0. */
    @FunctionalInterface
    interface OnServer {
        List<Photo> run(int server, Read read) throws SQLException;
    }

    /** Work with the connection. */
    @FunctionalInterface
    interface Read {
        List<Photo> run(Connection connection) throws SQLException;
    }

    static Photo select(Connection connection, String table, long id) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(COLUMNS + table + " WHERE id = ?")) {
            statement.setLong(1, id);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return Photo.of(row);
            }
        }
    }

    static long insert(Connection connection, String table, long uid, String title) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement("INSERT INTO " + table + " (uid, title) VALUES (?, ?) RETURNING id")) {
            statement.setLong(1, uid);
            statement.setString(2, title);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }

    static List<Photo> photos(PreparedStatement statement) throws SQLException {
        List<Photo> photos = new ArrayList<>();
        try (ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                photos.add(Photo.of(row));
            }
        }
        return photos;
    }

    /** A statement per server, with an arm for each of its shards that is asked. */
    List<Photo> photos(List<Long> ids, OnServer onServer) throws SQLException {
        Map<Integer, Map<Integer, List<Long>>> byServerAndShard = new TreeMap<>();
        for (long id : ids) {
            int shard = Layout.shardOfId(id);
            byServerAndShard
                    .computeIfAbsent(layout.server(shard), server -> new TreeMap<>())
                    .computeIfAbsent(shard, any -> new ArrayList<>())
                    .add(id);
        }
        List<Future<List<Photo>>> running = new ArrayList<>();
        byServerAndShard.forEach((server, byShard) ->
                running.add(executor.submit(() -> onServer.run(server, connection -> photos(connection, byShard)))));
        return together(running);
    }

    private static List<Photo> photos(Connection connection, Map<Integer, List<Long>> byShard) throws SQLException {
        String sql = byShard.entrySet().stream()
                .map(shard -> COLUMNS + Layout.table(shard.getKey()) + " WHERE id IN ("
                        + String.join(", ", Collections.nCopies(shard.getValue().size(), "?")) + ")")
                .collect(Collectors.joining(" UNION ALL "));
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            int position = 1;
            for (List<Long> ids : byShard.values()) {
                for (long id : ids) {
                    statement.setLong(position++, id);
                }
            }
            return photos(statement);
        }
    }

    private static List<String> newestStatements(List<Integer> shards, int limit) {
        List<String> statements = new ArrayList<>();
        for (int from = 0; from < shards.size(); from += SHARDS_A_STATEMENT) {
            statements.add(shards.subList(from, Math.min(from + SHARDS_A_STATEMENT, shards.size())).stream()
                    .map(shard -> COLUMNS + Layout.table(shard))
                    .collect(Collectors.joining(
                            " UNION ALL ",
                            "SELECT id, uid, title FROM (",
                            ") AS newest WHERE id > ? AND id < ? ORDER BY id DESC LIMIT " + limit)));
        }
        return statements;
    }

    /** The servers merge the shards' primary keys from their ends, and each statement asks only for what the last left out. */
    List<Photo> newest(int limit, OnServer onServer) throws SQLException {
        List<Future<List<Photo>>> running = new ArrayList<>();
        for (int server = 0; server < newest.size(); server++) {
            int asked = server;
            running.add(executor.submit(
                    () -> onServer.run(asked, connection -> newest(connection, newest.get(asked), limit))));
        }
        return newest(together(running), limit);
    }

    private static List<Photo> newest(Connection connection, List<String> statements, int limit) throws SQLException {
        List<Photo> newest = List.of();
        for (String sql : statements) {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                // To plan so many arms takes longer than to run them, so not five times before the server keeps the
                // plan.
                statement.unwrap(PGStatement.class).setPrepareThreshold(1);
                statement.setLong(
                        1, newest.size() < limit ? 0 : newest.get(limit - 1).id());
                // Above every id, and yet with it the server takes half the time.
                statement.setLong(2, Long.MAX_VALUE);
                List<Photo> found = photos(statement);
                found.addAll(newest);
                newest = newest(found, limit);
            }
        }
        return newest;
    }

    private static List<Photo> newest(List<Photo> photos, int limit) {
        return photos.stream().sorted(NEWEST_FIRST).limit(limit).toList();
    }

    private static List<Photo> together(List<Future<List<Photo>>> running) throws SQLException {
        List<Photo> photos = new ArrayList<>();
        for (Future<List<Photo>> some : running) {
            try {
                photos.addAll(some.get());
            } catch (ExecutionException e) {
                throw new SQLException(e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new SQLException(e);
            }
        }
        return photos;
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
