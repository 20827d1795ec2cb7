/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/** Copies all shards of a move as of one moment, several at a time, the largest first. */
final class MoveCopy {

    private static final long NANOS_BETWEEN_REPORTS = 1_000_000_000L;

    private static final String BY_SIZE = """
            SELECT right(n.nspname, 4)::integer, COALESCE(sum(pg_table_size(c.oid)), 0)
              FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
             WHERE n.nspname = ANY (?) GROUP BY n.nspname ORDER BY 2 DESC
            """;

    /** A shard and the approximate size of its tables. */
    private record Sized(int shard, long bytes) {}

    private final MoveSide source;
    private final MoveSide target;
    private final MoveLease lease;
    private final MoveSettings settings;
    private final MoveLimits limits;
    private final MoveListener listener;

    MoveCopy(
            MoveSide source,
            MoveSide target,
            MoveLease lease,
            MoveSettings settings,
            MoveLimits limits,
            MoveListener listener) {
        this.source = source;
        this.target = target;
        this.lease = lease;
        this.settings = settings;
        this.limits = limits;
        this.listener = listener;
    }

    /**
     * Copies.
     *
     * @param copied the shards among these that an earlier process copied, as of an earlier moment
     */
    void copy(ExportedSnapshot snapshot, ShardSet shards, ShardSet copied) throws SQLException {
        Map<Integer, List<String>> tables = source.tables(shards);
        Queue<Sized> waiting = new ConcurrentLinkedQueue<>(
                Sql.list(source.control(), BY_SIZE, row -> new Sized(row.getInt(1), row.getLong(2)), shards));
        Throttle throttle = new Throttle(limits, settings.maxLag(), target.control());
        List<Copier> copiers = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(settings.jobs());
        try {
            for (int i = 0; i < Math.min(settings.jobs(), waiting.size()); i++) {
                copiers.add(new Copier(snapshot, throttle));
            }
            List<Future<?>> running = new ArrayList<>();
            for (Copier copier : copiers) {
                running.add(threads.submit(() -> {
                    try {
                        copier.run(waiting, tables, copied);
                        return true;
                    } finally {
                        waiting.clear(); // If one fails, the others start no further shard.
                    }
                }));
            }
            for (Future<?> future : running) {
                await(future);
            }
        } finally {
            waiting.clear();
            threads.shutdownNow();
            for (Copier copier : copiers) {
                copier.close();
            }
        }
    }

    private static void await(Future<?> running) throws SQLException {
        try {
            running.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException sql) {
                throw sql;
            }
            if (e.getCause() instanceof RuntimeException unchecked) {
                throw unchecked;
            }
            throw new IllegalStateException("copying failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MoveException(
                    "interrupted while copying; the same command goes on with the shards that are left", e);
        }
    }

    /** Copies one shard after another. */
    private final class Copier implements AutoCloseable {

        private final ShardCopy copy;
        private int shard;
        private long bytes;
        private long rows;
        private long size;
        private long nextReport = System.nanoTime();

        Copier(ExportedSnapshot snapshot, Throttle throttle) throws SQLException {
            Connection reader = source.connect();
            try {
                snapshot.importInto(reader);
                copy = new ShardCopy(reader, target.connect(), throttle, this::copied);
            } catch (SQLException | RuntimeException e) {
                Sql.close(reader);
                throw e;
            }
        }

        void run(Queue<Sized> waiting, Map<Integer, List<String>> tables, ShardSet copied) throws SQLException {
            for (Sized next = waiting.poll(); next != null; next = waiting.poll()) {
                shard = next.shard();
                bytes = 0;
                rows = 0;
                size = 0;
                List<String> its = tables.getOrDefault(shard, Collections.emptyList());
                if (copied.contains(shard) && copy.isThere(its)) {
                    listener.copied(shard, next.bytes(), 0);
                } else {
                    copy.copy(shard, next.bytes(), its, target.checkClaim());
                    lease.copied(shard, ShardPhase.COPIED, bytes, rows);
                }
                listener.shardCopied(shard);
                listener.reached(MoveStep.SHARD_COPIED);
            }
        }

        private void copied(long moreBytes, long moreRows, long moreSize) {
            bytes += moreBytes;
            rows += moreRows;
            size += moreSize;
            listener.copied(shard, moreSize, moreRows);
            if (System.nanoTime() - nextReport > 0) {
                nextReport = System.nanoTime() + NANOS_BETWEEN_REPORTS;
                try {
                    lease.copying(shard, size, rows);
                } catch (SQLException e) {
                    throw new MoveException("cannot write to the catalog how far the copy is: " + Sql.message(e), e);
                }
            }
        }

        @Override
        public void close() {
            copy.close();
        }
    }
}
