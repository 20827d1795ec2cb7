/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.shardflake.ShardSet;
import org.shardflake.grants.OwnersCode;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.internal.copy.DeferredIndexes;
import org.shardflake.move.internal.copy.PartedCopy;
import org.shardflake.move.internal.copy.ShardCopy;
import org.shardflake.move.internal.copy.SplitTable;
import org.shardflake.move.internal.copy.TableCopy;
import org.shardflake.move.internal.session.ExportedSnapshot;
import org.shardflake.move.internal.session.MoveServerSession;

/** Copies all shards of a move as of one moment: several at a time, the largest first, very large ones in parts. */
final class MoveCopy {

    private static final long NANOS_BETWEEN_REPORTS = 1_000_000_000L;

    private static final String BY_SIZE = """
            SELECT right(n.nspname, 4)::integer, COALESCE(sum(pg_table_size(c.oid)), 0)
              FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
             WHERE n.nspname = ANY (?) GROUP BY n.nspname ORDER BY 2 DESC
            """;

    /** A shard and the approximate size of its tables. */
    private record Sized(int shard, long bytes) {}

    private final MoveServerSession source;
    private final MoveServerSession target;
    private final MoveLease lease;
    private final MoveSettings settings;
    private final MoveLimits limits;
    private final MoveListener listener;
    private final Runnable stepDone;
    private final Deque<Work> shardsAndParts = new ConcurrentLinkedDeque<>();
    /** Index builds of the last shards, which all connections share when nothing else is left. */
    private final Queue<Work> lastIndexes = new ConcurrentLinkedQueue<>();

    /** @param stepDone notes that something is there which is kept whatever happens: a part, or an index */
    MoveCopy(
            MoveServerSession source,
            MoveServerSession target,
            MoveLease lease,
            MoveSettings settings,
            MoveLimits limits,
            MoveListener listener,
            Runnable stepDone) {
        this.source = source;
        this.target = target;
        this.lease = lease;
        this.settings = settings;
        this.limits = limits;
        this.listener = listener;
        this.stepDone = stepDone;
    }

    /**
     * Copies all given shards.
     *
     * @param copied the shards among these that an earlier process copied, as of an earlier moment
     */
    void copy(ExportedSnapshot snapshot, ShardSet shards, ShardSet copied) throws SQLException {
        Map<Integer, List<String>> tables = source.tables(shards);
        List<Sized> sized =
                Sql.list(source.control(), BY_SIZE, row -> new Sized(row.getInt(1), row.getLong(2)), shards);
        ShardSet lacking = DeferredIndexes.lacking(source.control(), target.control(), shards);
        List<Work> large = new ArrayList<>();
        List<Work> others = new ArrayList<>();
        for (Sized next : sized) {
            List<String> its = tables.getOrDefault(next.shard(), List.of());
            Work whole =
                    copier -> copier.copy(next, its, copied.contains(next.shard()), lacking.contains(next.shard()));
            if (SplitTable.isLarge(next.bytes(), settings.partSize())) {
                large.add(copier -> copier.begin(next, its, whole));
            } else {
                others.add(whole);
            }
        }
        Throttle throttle = new Throttle(limits, settings.maxLag(), settings.patience(), target.control(), listener);
        List<Copier> copiers = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(settings.jobs());
        try {
            while (copiers.size() < (large.isEmpty() ? Math.min(settings.jobs(), sized.size()) : settings.jobs())) {
                copiers.add(new Copier(snapshot, throttle));
            }
            run(copiers, new ConcurrentLinkedQueue<>(large), threads);
            shardsAndParts.addAll(others);
            run(copiers, shardsAndParts, threads);
            run(copiers, lastIndexes, threads);
        } finally {
            threads.shutdownNow();
            for (Copier copier : copiers) {
                copier.close();
            }
        }
    }

    private static void run(List<Copier> copiers, Queue<Work> work, ExecutorService threads) throws SQLException {
        List<Future<?>> running = new ArrayList<>();
        try {
            for (Copier copier : copiers) {
                running.add(threads.submit(() -> {
                    boolean isDone = false;
                    try {
                        for (Work next = work.poll(); next != null; next = work.poll()) {
                            next.by(copier);
                        }
                        isDone = true;
                        return true;
                    } finally {
                        if (!isDone) {
                            work.clear(); // If one fails, the others start nothing further.
                        }
                    }
                }));
            }
            for (Future<?> future : running) {
                await(future);
            }
        } finally {
            work.clear();
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
                    "interrupted while copying; run the same command again for the remaining shards", e);
        }
    }

    /** A unit of copying: a shard, or a part of one. */
    @FunctionalInterface
    private interface Work {
        void by(Copier copier) throws SQLException;
    }

    /** The progress of a shard, reported by all connections that copy parts of it. */
    private final class ShardProgress implements TableCopy.Progress {

        private final int shard;
        private long bytes;
        private long rows;
        private long size;
        private long nextReport = System.nanoTime();

        ShardProgress(int shard) {
            this.shard = shard;
        }

        @Override
        public synchronized void copied(long moreBytes, long moreRows, long moreSize) {
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

        synchronized void done() throws SQLException {
            lease.copied(shard, ShardPhase.COPIED, bytes, rows);
            tell(shard);
        }
    }

    private void tell(int shard) {
        listener.shardCopied(shard);
        listener.reached(MoveStep.SHARD_COPIED);
    }

    /** A pair of connections that copies one unit after another. */
    private final class Copier implements AutoCloseable {

        private final Connection from;
        private final Connection to;
        private final ShardCopy shards;
        private final PartedCopy parted;

        Copier(ExportedSnapshot snapshot, Throttle throttle) throws SQLException {
            from = source.connect();
            try {
                OwnersCode.refuseViews(from);
                snapshot.importInto(from);
                to = target.connect();
            } catch (SQLException | RuntimeException e) {
                Sql.close(from);
                throw e;
            }
            shards = new ShardCopy(from, to, throttle);
            parted = new PartedCopy(from, to, throttle, target.checkClaim());
        }

        /** Queues the parts of a shard, or the whole shard if it has none. */
        private void begin(Sized next, List<String> tables, Work whole) throws SQLException {
            List<SplitTable> split = parted.split(tables, settings.partSize());
            if (!parted.isParted(split)) {
                shardsAndParts.add(whole);
                return;
            }
            ShardProgress progress = new ShardProgress(next.shard());
            PartedCopy.PartedShard shard = parted.begin(next.shard(), next.bytes(), split, progress);
            for (PartedCopy.Part part : shard.parts()) {
                shardsAndParts.add(copier -> copier.copy(shard, part, progress));
            }
            if (shard.parts().isEmpty()) {
                build(shard, progress);
            }
        }

        private void copy(PartedCopy.PartedShard shard, PartedCopy.Part part, ShardProgress progress)
                throws SQLException {
            parted.copy(part, progress);
            stepDone.run();
            listener.reached(MoveStep.PART_COPIED);
            if (shard.countDown()) {
                build(shard, progress);
            }
        }

        /** Queues the index builds, for all connections to share, in parallel with the remaining rows or after them. */
        private void build(PartedCopy.PartedShard shard, ShardProgress progress) throws SQLException {
            List<String> indexes = parted.indexes(shard);
            if (indexes.isEmpty()) {
                end(shard, progress);
            }
            AtomicInteger left = new AtomicInteger(indexes.size());
            boolean isLast = shardsAndParts.isEmpty();
            for (String index : indexes) {
                Work work = copier -> copier.build(shard, index, left, progress);
                if (isLast) {
                    lastIndexes.add(work);
                } else {
                    shardsAndParts.addFirst(work);
                }
            }
        }

        private void build(PartedCopy.PartedShard shard, String index, AtomicInteger left, ShardProgress progress)
                throws SQLException {
            parted.build(index);
            stepDone.run();
            listener.reached(MoveStep.INDEX_BUILT);
            if (left.decrementAndGet() == 0) {
                end(shard, progress);
            }
        }

        private void end(PartedCopy.PartedShard shard, ShardProgress progress) throws SQLException {
            parted.end(shard);
            progress.done();
        }

        private void copy(Sized next, List<String> tables, boolean mayBeThere, boolean lacksIndexes)
                throws SQLException {
            if (mayBeThere && !lacksIndexes && OwnersCode.refusingViews(to, () -> shards.isThere(tables))) {
                listener.copied(next.shard(), next.bytes(), 0);
                tell(next.shard());
            } else {
                ShardProgress progress = new ShardProgress(next.shard());
                shards.copy(next.shard(), next.bytes(), tables, lacksIndexes, target.checkClaim(), progress);
                progress.done();
            }
        }

        @Override
        public void close() {
            Sql.close(from);
            Sql.close(to);
        }
    }
}
