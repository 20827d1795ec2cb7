/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.shardflake.compare.EqualCopies;
import org.shardflake.compare.SnapshotPair;
import org.shardflake.compare.TableDifference;
import org.shardflake.move.exception.MoveException;

/** Compares shards as of their cutover, one after the other, while the next ones are cut over. */
final class CutoverComparer implements AutoCloseable {

    /** The maximum number of waiting comparisons, each of which holds a snapshot on both servers and so holds up VACUUM. */
    private static final int WAITING = 4;

    private final MoveLease lease;
    private final MoveListener listener;
    private final EqualCopies copies;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private final Semaphore room = new Semaphore(WAITING);
    private final Queue<SnapshotPair> idle = new ConcurrentLinkedQueue<>();
    private final List<Future<?>> running = new ArrayList<>();
    private final List<FrozenCopies> kept = new CopyOnWriteArrayList<>();
    private final Map<Integer, List<TableDifference>> different = new ConcurrentSkipListMap<>();
    private final TableDifference.Names names = new TableDifference.Names();
    private final boolean wanted;

    /**
     * @param copies where to keep what is found equal
     * @param wanted whether to compare anything
     */
    CutoverComparer(MoveLease lease, MoveListener listener, EqualCopies copies, boolean wanted) {
        this.lease = lease;
        this.listener = listener;
        this.copies = copies;
        this.wanted = wanted;
    }

    /** The differences found so far, by shard. */
    Map<Integer, List<TableDifference>> different() {
        return different;
    }

    /** Whether anything is to be compared. */
    boolean areWanted() {
        return wanted;
    }

    /** The number of differing rows that may still be named. */
    TableDifference.Names names() {
        return names;
    }

    /**
     * Prepares the comparison of a shard, after waiting for others if there are many.
     *
     * @param following what was found just before; null if nothing was
     */
    FrozenCopies prepare(
            MoveSession session, MoveShard shard, List<String> tables, EqualCopies.@Nullable Following following)
            throws SQLException {
        try {
            room.acquire();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MoveException("interrupted between two cutovers", e);
        }
        room.release();
        return new FrozenCopies(
                session.source(),
                shard,
                tables,
                wanted ? Optional.of(sessions(session)) : Optional.empty(),
                copies.begin(shard.shard(), following),
                following == null ? Optional.empty() : Optional.of(HeldStream.hold(session.back(shard))));
    }

    /** Reuses the sessions of a finished comparison, if any: a session is slower the first time. */
    private SnapshotPair sessions(MoveSession session) throws SQLException {
        SnapshotPair used = idle.poll();
        if (used == null) {
            return SnapshotPair.open(session.source()::connect, session.target()::connect);
        }
        try {
            used.reset();
            return used;
        } catch (SQLException e) {
            used.close();
            throw e;
        }
    }

    void compare(FrozenCopies comparison) {
        comparison.handOver().ifPresent(sessions -> start(comparison, sessions));
    }

    private void start(FrozenCopies comparison, SnapshotPair sessions) {
        room.acquireUninterruptibly();
        running.add(thread.submit(() -> {
            try {
                compare(comparison, sessions);
                return true;
            } finally {
                room.release();
            }
        }));
    }

    private void compare(FrozenCopies comparison, SnapshotPair sessions) throws SQLException {
        try {
            int shard = comparison.shard();
            List<TableDifference> differences =
                    comparison.compare(sessions, names, () -> lease.verified(shard, Verified.DIFFERENT));
            if (differences.isEmpty()) {
                lease.verified(shard, Verified.AT_CUTOVER);
                comparison.letFollow();
            } else {
                kept.add(comparison);
                different.put(shard, differences);
            }
            listener.compared(comparison.shard(), differences);
            listener.reached(MoveStep.COMPARED);
            sessions.reset();
        } catch (SQLException | RuntimeException e) {
            comparison.letFollow();
            sessions.close();
            throw e;
        }
        idle.add(sessions);
        if (thread.isShutdown()) {
            closeIdle();
        }
    }

    /** Waits for all comparisons, and returns the differences. */
    Map<Integer, List<TableDifference>> await() throws SQLException {
        try {
            for (Future<?> comparison : running) {
                comparison.get();
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException sql) {
                throw sql;
            }
            throw e.getCause() instanceof RuntimeException unchecked
                    ? unchecked
                    : new IllegalStateException("a comparison failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MoveException("interrupted while comparing", e);
        }
        running.clear();
        return different;
    }

    /** Lets the copies that differ receive changes again, unless their stream is stopped. */
    private void letFollow() {
        kept.forEach(FrozenCopies::letFollow);
    }

    private void closeIdle() {
        for (SnapshotPair next = idle.poll(); next != null; next = idle.poll()) {
            next.close();
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
        letFollow();
        closeIdle();
    }
}
