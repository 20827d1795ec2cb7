/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.connection;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.pool.HikariPool;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one server, lent by shard. Thread-safe.
 *
 * <p>A backend of PostgreSQL keeps what it knows of each table that it has touched, and plans each shard's own text by itself. So every
 * shard has a home among the connections, and a second one. While its home is lent, a connection is lent that has served the shard before,
 * or that has served few shards so far. Without one, the home is waited for, after some milliseconds the second one too, and some
 * time later any; if waits are long because all are busy, later than that. A connection that comes back goes to a shard at home there,
 * unless another has waited longer by a mean wait.
 */
public final class ShardConnections implements AutoCloseable {

    /** The number that stands for work without a shard. */
    public static final int NO_SHARD = -1;

    /** The time to wait for a busy home connection while the second home is idle; with no home idle, the additional wait. */
    private static final long HOME_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    /** The time to wait when both home connections are busy. */
    static final long HOMES_NANOS = TimeUnit.MILLISECONDS.toNanos(15);

    /** The longest wait that counts as usual, so that shards leave a home that is stuck. */
    private static final long USUAL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** The weight of older waits in the mean, beside 1 for the latest. */
    private static final int OLDER_WAITS = 63;

    /** The number of shards up to which a connection takes on further shards immediately. */
    private static final int FEW_SHARDS = 16;

    /** The number of shards served beyond which a connection is replaced, unless more shards have their home there. */
    private static final int MANY_SHARDS = 256;

    /** The number of tables read by queries over many shards beyond which a connection is replaced: some 25 MB, perhaps twice that. */
    private static final int MANY_TABLES = 1000;

    /** The time that a connection may take to open while others are open, and the interval of checks for a free one. */
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The time for which a connection that could not be opened is left to HikariCP while others are open. */
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final String NOT_SUPPORTED = "0A000";

    private static final int HOMES = 0x9E3779B9; // 2^32 by the golden ratio: evens out runs and regular gaps.
    private static final int SECOND_HOMES = 0x85EBCA6B;

    private final List<Slot> slots = new ArrayList<>();
    private final long timeoutNanos;
    private final boolean hasHomes;
    private final @Nullable ScheduledThreadPoolExecutor scheduler;
    private final ReentrantLock lock = new ReentrantLock();
    /** The waiting threads, those that have waited longest first. */
    private final Deque<Waiter> waiters = new ArrayDeque<>();
    /** The shards that any connection was lent for. */
    private final BitSet shards = new BitSet();

    private int shardCount;
    /** The mean wait for connections lately, in nanoseconds; those without a wait count as 0, and long ones as {@link #USUAL_NANOS}. */
    private long meanWait;

    private volatile boolean closed;

    /** A thread that wants a connection. */
    private final class Waiter {

        private final int shard;
        /** The preferred connection; null if any connection will do. */
        private final @Nullable Slot home;

        private final @Nullable Slot second;
        private final long since;
        private final Thread thread = Thread.currentThread();
        private volatile @Nullable Slot given;
        private boolean isQueued;
        private long nextLook;

        private Waiter(int shard, long since) {
            boolean hasHome = hasHomes && shard != NO_SHARD;
            int size = slots.size();
            int first = spread(shard, HOMES, size);
            this.shard = shard;
            this.home = hasHome ? slots.get(first) : null;
            this.second = hasHome ? slots.get((first + 1 + spread(shard, SECOND_HOMES, size - 1)) % size) : null;
            this.since = since;
        }

        /** The time from which the waiter accepts a connection instead of waiting for a better one. */
        private long takes(Slot slot) {
            if (home == null
                    || second == null
                    || slot == home
                    || slot.hasServed(shard)
                    || slot.servedShards() < FEW_SHARDS) {
                return since;
            }
            return slot == second
                    ? home.hopeFrom(since) + Math.max(HOME_NANOS, meanWait)
                    : Math.max(home.hopeFrom(since), second.hopeFrom(since)) + Math.max(HOMES_NANOS, 3 * meanWait);
        }

        /**
         * The place among those that want the connection, the lowest first. When all are busy, each connection would otherwise come to
         * know all shards that have a home there or a second one, and plan the statements of all.
         */
        private long rank(Slot slot) {
            return takes(slot) + (home == null || slot == home ? 0 : meanWait);
        }

        /** The best idle connection that the waiter accepts now; one that has yet to be opened if no open one is idle. */
        private @Nullable Slot idle(long now) {
            Slot best = null;
            Slot unconnected = null;
            boolean isOpenIdle = false;
            boolean isOpen = isAnyOpen();
            // Work on no shard, which may touch many, begins with the last, so that most are spared.
            for (int i = slots.size() - 1; i >= 0; i--) {
                Slot slot = slots.get(i);
                if (slot.isLent()) {
                    continue;
                }
                if (!slot.isConnected()) {
                    if (!isOpen || now - slot.failedAt() > RETRY_NANOS) {
                        unconnected = unconnected == null || slot == home ? slot : unconnected;
                    }
                    continue;
                }
                isOpenIdle = true;
                if (slot == home) {
                    return slot;
                }
                if (takes(slot) - now <= 0 && (best == null || takes(slot) - takes(best) < 0)) {
                    best = slot;
                }
            }
            return isOpenIdle ? best : unconnected;
        }

        /** The time at which to look for an idle connection again. */
        private long nextLook(long now) {
            long next = since + timeoutNanos;
            for (Slot slot : slots) {
                long takes = slot.isLent() || slot.isConnected() ? takes(slot) : now + PATIENCE_NANOS;
                next = takes - now > 0 && takes - next < 0 ? takes : next;
            }
            return next;
        }
    }

    /**
     * Creates the pools; the first one fails as the configuration says if it gets no connection.
     *
     * @param config of all connections together
     * @param hasHomes false if a pooler gives each transaction any session of the server, so that it makes no difference which is lent
     */
    public ShardConnections(HikariConfig config, boolean hasHomes) {
        config.validate();
        this.timeoutNanos = TimeUnit.MILLISECONDS.toNanos(config.getConnectionTimeout());
        this.hasHomes = hasHomes;
        this.scheduler = config.getScheduledExecutor() == null ? scheduler(config.getPoolName()) : null;
        try {
            for (int i = 0; i < config.getMaximumPoolSize(); i++) {
                slots.add(new Slot(one(config, i)));
            }
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    private static ScheduledThreadPoolExecutor scheduler(String name) {
        ScheduledThreadPoolExecutor scheduler = new ScheduledThreadPoolExecutor(1, work -> {
            Thread thread = new Thread(work, name + " housekeeper");
            thread.setDaemon(true);
            return thread;
        });
        scheduler.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        scheduler.setRemoveOnCancelPolicy(true);
        return scheduler;
    }

    private HikariConfig one(HikariConfig all, int number) {
        HikariConfig one = new HikariConfig();
        all.copyStateTo(one);
        one.setPoolName("%s %s".formatted(all.getPoolName(), number + 1));
        one.setMaximumPoolSize(1);
        one.setMinimumIdle(number < all.getMinimumIdle() ? 1 : 0);
        if (number > 0) {
            one.setInitializationFailTimeout(-1);
        }
        if (scheduler != null) {
            one.setScheduledExecutor(scheduler);
        }
        one.validate();
        return one;
    }

    /** A connection while it is lent. */
    public final class Loan {

        private final Slot slot;
        private final Connection connection;
        private final AtomicBoolean isBack = new AtomicBoolean();
        private volatile boolean isEvicted;

        private Loan(Slot slot, Connection connection) {
            this.slot = slot;
            this.connection = connection;
        }

        public Connection connection() {
            return connection;
        }

        /** Notes the shards that a query over many reads on it. */
        public void reads(String query, Collection<Integer> shards) {
            lock.lock();
            try {
                slot.reads(query, shards);
            } finally {
                lock.unlock();
            }
        }

        /** Closes the leased connection itself. Another will replace it. */
        public void evict() {
            isEvicted = true;
            slot.pool().evictConnection(connection);
        }

        /**
         * Returns the connection to the pool; further calls do nothing.
         *
         * @param isFit false if another must replace it
         */
        public void giveBack(boolean isFit) throws SQLException {
            if (isBack.getAndSet(true)) {
                return;
            }
            boolean isKept = false;
            try {
                connection.close();
                isKept = isFit && !isFull(slot);
            } catch (SQLException | RuntimeException e) {
                if (isFit && !isEvicted) {
                    throw e;
                }
            } finally {
                if (!isKept) { // Not before the close, in which HikariCP resets its settings.
                    slot.pool().evictConnection(connection);
                }
                release(slot);
            }
        }
    }

    /** Whether the connection's backend has cached so much that a new connection is better. A pooler would keep that backend. */
    private boolean isFull(Slot slot) {
        if (!hasHomes) {
            return false;
        }
        lock.lock();
        try {
            // Each shard has two homes; some of the rest is spared.
            return slot.servedShards() > Math.max(MANY_SHARDS, 3 * shardCount / slots.size())
                    || slot.hasReadMore(MANY_TABLES);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lends a connection for a shard, or for {@link #NO_SHARD}.
     *
     * @throws SQLException if no connection comes back in time, caused by an {@link InterruptedException} if the thread was interrupted
     */
    public Loan lend(int shard) throws SQLException {
        long start = System.nanoTime();
        while (true) {
            Slot slot = take(shard, start);
            boolean isLent = false;
            try {
                Loan loan = new Loan(slot, slot.pool().getConnection(patience(start)));
                connected(loan, shard);
                isLent = true;
                return loan;
            } catch (SQLTransientConnectionException e) {
                if (isBroken(e)) {
                    slot.renew();
                    if (closed) {
                        shutDown(slot.pool()); // It may have come after those that were closed.
                    }
                }
                if (System.nanoTime() - start >= timeoutNanos) {
                    throw e;
                }
                failed(slot);
            } finally {
                if (!isLent) {
                    release(slot);
                }
            }
        }
    }

    /**
     * Whether HikariCP can open no connection any more. If the first one is lost while its isolation level is read, HikariCP sets -1 on all later ones, which
     * the driver does not support (HikariCP issue 1944).
     */
    private static boolean isBroken(SQLException failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException its && NOT_SUPPORTED.equals(its.getSQLState())) {
                return true;
            }
        }
        return false;
    }

    /** The time to wait for a connection to open, in milliseconds; short if others are open, since one of them may come back sooner. */
    private long patience(long start) {
        long left = timeoutNanos - (System.nanoTime() - start);
        return Math.max(1, TimeUnit.NANOSECONDS.toMillis(isAnyOpen() ? Math.min(left, PATIENCE_NANOS) : left));
    }

    private boolean isAnyOpen() {
        for (Slot slot : slots) {
            if (slot.isConnected()) {
                return true;
            }
        }
        return false;
    }

    private void failed(Slot slot) {
        lock.lock();
        try {
            slot.failed(System.nanoTime());
        } finally {
            lock.unlock();
        }
    }

    private void connected(Loan loan, int shard) {
        if (loan.slot.isNew(loan.connection)) {
            lock.lock();
            try {
                loan.slot.connected(loan.connection);
                if (shard != NO_SHARD) {
                    loan.slot.serves(shard);
                }
            } finally {
                lock.unlock();
            }
        }
    }

    private Slot take(int shard, long start) throws SQLException {
        Waiter waiter = new Waiter(shard, start);
        Slot slot = look(waiter);
        while (slot == null) {
            LockSupport.parkNanos(this, waiter.nextLook - System.nanoTime());
            slot = waiter.given; // Without the lock, which others want.
            if (slot == null) {
                slot = look(waiter);
            }
        }
        return slot;
    }

    /** A connection for a waiter; queues the waiter if no connection suits. */
    private @Nullable Slot look(Waiter waiter) throws SQLException {
        lock.lock();
        boolean isWaiting = false;
        try {
            if (waiter.given != null) {
                return waiter.given;
            }
            requireOpen();
            long now = System.nanoTime();
            if (now - waiter.since >= timeoutNanos) {
                throw new SQLTransientConnectionException(
                        "no connection became free within %s ms".formatted(timeoutNanos / 1_000_000), "08001");
            }
            Slot idle = waiter.idle(now);
            if (idle != null) {
                return lent(idle, waiter);
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new SQLException("interrupted while waiting for a connection", new InterruptedException());
            }
            if (!waiter.isQueued) {
                waiters.add(waiter);
                waiter.isQueued = true;
            }
            waiter.nextLook = waiter.nextLook(now);
            isWaiting = true;
            return null;
        } finally {
            if (!isWaiting && waiter.isQueued) {
                waiters.remove(waiter);
            }
            lock.unlock();
        }
    }

    private void requireOpen() throws SQLException {
        if (closed) {
            throw new SQLException("the connections are closed", "08003");
        }
    }

    private Slot lent(Slot slot, Waiter waiter) {
        int shard = waiter.shard;
        long now = System.nanoTime();
        if (shard == NO_SHARD) {
            slot.lend(now - HOMES_NANOS); // It may take long.
            return slot;
        }
        meanWait = (meanWait * OLDER_WAITS + Math.min(now - waiter.since, USUAL_NANOS)) / (OLDER_WAITS + 1);
        slot.lend(now);
        slot.serves(shard);
        if (!shards.get(shard)) {
            shards.set(shard);
            shardCount++;
        }
        return slot;
    }

    private void release(Slot slot) {
        Waiter next;
        lock.lock();
        try {
            slot.release();
            if (slot.isConnected()) {
                next = next(slot, System.nanoTime());
                if (next != null) {
                    waiters.remove(next);
                    next.given = lent(slot, next);
                }
            } else {
                next = waiters.peek(); // It may open it, if that has not just failed.
            }
        } finally {
            lock.unlock();
        }
        if (next != null) {
            LockSupport.unpark(next.thread);
        }
    }

    /** The waiter that gets a returned connection: of those that accept it, the one of the lowest rank. */
    private @Nullable Waiter next(Slot slot, long now) {
        Waiter next = null;
        for (Waiter waiter : waiters) {
            if (next != null && waiter.since - next.rank(slot) >= 0) {
                break; // The others came later, too.
            }
            if (waiter.takes(slot) - now <= 0 && (next == null || waiter.rank(slot) - next.rank(slot) < 0)) {
                next = waiter;
            }
        }
        return next;
    }

    /** Spreads shards evenly over connections, whichever shards are on the server. */
    private static int spread(int shard, int factor, int size) {
        return (int) ((Integer.toUnsignedLong(shard * factor) * size) >>> 32);
    }

    /** The configured number of connections. */
    public int size() {
        return slots.size();
    }

    /** The maximum time to wait for a connection. */
    public Duration timeout() {
        return Duration.ofNanos(timeoutNanos);
    }

    /** How many connections are in use. */
    public int active() {
        return sum(HikariPool::getActiveConnections);
    }

    /** How many connections are open and not in use. */
    public int idle() {
        return sum(HikariPool::getIdleConnections);
    }

    /** How many threads wait for a connection. */
    public int waiting() {
        int inQueue;
        lock.lock();
        try {
            inQueue = waiters.size();
        } finally {
            lock.unlock();
        }
        return inQueue + sum(HikariPool::getThreadsAwaitingConnection);
    }

    private int sum(ToIntFunction<HikariPool> number) {
        return slots.stream().map(Slot::pool).mapToInt(number).sum();
    }

    public boolean isClosed() {
        return closed;
    }

    /** Closes all connections, including leased ones, and wakes all waiting threads. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            waiters.forEach(waiter -> LockSupport.unpark(waiter.thread));
        } finally {
            lock.unlock();
        }
        // Each may take some seconds if the server hangs.
        List<Thread> closing = slots.stream()
                .map(slot -> new Thread(() -> shutDown(slot.pool()), "shardflake-close"))
                .toList();
        closing.forEach(Thread::start);
        try {
            for (Thread thread : closing) {
                thread.join();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (scheduler != null) {
            scheduler.shutdownNow();
        }
    }

    static void shutDown(HikariPool pool) {
        try {
            pool.shutdown();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
