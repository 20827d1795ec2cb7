/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.io.IOException;
import java.io.InputStream;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.postgresql.PGConnection;
import org.postgresql.copy.PGCopyInputStream;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.ids.Sql;
import org.shardflake.benchmarks.installation.Installation;

/** What the machine can do: the rows of shards from {@code COPY} to {@code COPY}, two tables at a time, into tables without any index. */
final class RowPipe {

    private static final String DATABASE = "piped";
    private static final int AT_A_TIME = 2;

    private RowPipe() {}

    /** Copies the rows to a database of its own on a server, drops it, and returns how many seconds copying took. */
    static double seconds(Installation installation, ShardSet shards, String target) throws Exception {
        String source = target.equals("db1") ? "db2" : "db1";
        Queue<String> tables = new ConcurrentLinkedQueue<>();
        try (Connection server = installation.server(target).connect()) {
            Sql.execute(server, "DROP DATABASE IF EXISTS " + DATABASE, "CREATE DATABASE " + DATABASE);
        }
        try {
            try (Connection to = installation.server(target).connect(DATABASE)) {
                for (int shard : shards.stream().toArray()) {
                    String schema = "shard_%04d".formatted(shard);
                    Sql.execute(
                            to,
                            "CREATE SCHEMA " + schema,
                            "CREATE TABLE %s.photo (id bigint, uid bigint, title text)".formatted(schema),
                            "CREATE TABLE %s.tag (id bigint, photo_id bigint)".formatted(schema));
                    tables.addAll(List.of(schema + ".photo", schema + ".tag"));
                }
            }
            installation.checkpoint();
            return copy(installation, source, target, tables);
        } finally {
            try (Connection server = installation.server(target).connect()) {
                Sql.execute(server, "DROP DATABASE " + DATABASE);
            }
        }
    }

    private static double copy(Installation installation, String source, String target, Queue<String> tables)
            throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(AT_A_TIME);
        try {
            long start = System.nanoTime();
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < AT_A_TIME; i++) {
                running.add(threads.submit(() -> {
                    try (Connection from = installation.connect(source);
                            Connection to = installation.server(target).connect(DATABASE)) {
                        to.setAutoCommit(false);
                        for (String table = tables.poll(); table != null; table = tables.poll()) {
                            copy(from, to, table);
                        }
                    }
                    return true;
                }));
            }
            for (Future<?> one : running) {
                one.get();
            }
            return (System.nanoTime() - start) / 1e9;
        } finally {
            threads.shutdownNow();
        }
    }

    /** Truncated in the same transaction, so that the rows may be written frozen. */
    private static void copy(Connection from, Connection to, String table) throws SQLException, IOException {
        Sql.execute(to, "TRUNCATE " + table);
        try (InputStream rows = new PGCopyInputStream(
                from.unwrap(PGConnection.class), "COPY %s TO STDOUT (FORMAT binary)".formatted(table))) {
            to.unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn("COPY %s FROM STDIN (FORMAT binary, FREEZE)".formatted(table), rows, 1 << 16);
        }
        to.commit();
    }
}
