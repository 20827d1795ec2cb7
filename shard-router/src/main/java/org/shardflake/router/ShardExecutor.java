/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.router.exception.CommitOutcomeUnknownException;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.router.internal.jdbc.ForwardingConnection;
import org.shardflake.router.internal.map.MapSource;
import org.shardflake.router.internal.pool.Access;
import org.shardflake.router.internal.pool.PoolClosedException;
import org.shardflake.router.internal.pool.RoutedPools;
import org.shardflake.router.internal.pool.Routes;
import org.shardflake.router.internal.pool.ServerPool;
import org.shardflake.router.internal.session.LeasedConnection;
import org.shardflake.router.internal.session.NotCommittableException;
import org.shardflake.router.internal.session.SqlFailure;

/**
 * Runs work on shards: lends connections, begins, commits and rolls back transactions, and repeats work whose shard has moved or whose
 * connection was lost. Thread-safe.
 */
final class ShardExecutor {

    private final RoutedPools pools;
    private final MapSource maps;
    private final RetryPolicy retryPolicy;
    private final RouterListener listener;
    private final OpenTransactions open = new OpenTransactions();
    /** The attempt that each thread is in. */
    private final Map<Thread, ShardAttempt> running = new ConcurrentHashMap<>();

    ShardExecutor(RoutedPools pools, MapSource maps, RetryPolicy retryPolicy, RouterListener listener) {
        this.pools = pools;
        this.maps = maps;
        this.retryPolicy = retryPolicy;
        this.listener = listener;
    }

    Routes routes() {
        return pools.routes();
    }

    ShardMap map() {
        return routes().map();
    }

    ShardPlacement locate(ShardKey key) {
        ShardMap map = map();
        return map.placement(map.shard(key));
    }

    /** The transactions that threads are in. */
    OpenTransactions open() {
        return open;
    }

    Retry newRetry() {
        return new Retry(retryPolicy, maps, listener);
    }

    /** Registers work that closing the router waits for, until {@link #leave}. */
    void enter() {
        pools.enter();
    }

    void leave() {
        pools.leave();
    }

    /** Runs work in a transaction on a shard, or as part of the transaction that the thread is in. */
    <T extends @Nullable Object, X extends Exception> T execute(int shard, Access access, ShardWork<T, X> work)
            throws X {
        ShardTransaction outer = open.current();
        if (outer != null) {
            return join(outer, shard, access, work);
        }
        enter();
        try {
            return observed(shard, attempts(shard, access, work));
        } finally {
            leave();
        }
    }

    /** Runs work in a separate transaction on a shard. The caller has {@linkplain #enter entered}. */
    <T extends @Nullable Object, X extends Exception> T inTransaction(int shard, Access access, ShardWork<T, X> work)
            throws X {
        return untilDone(shard, attempts(shard, access, work));
    }

    private <T extends @Nullable Object, X extends Exception> Attempts<T, X> attempts(
            int shard, Access access, ShardWork<T, X> work) {
        ShardAttempt around = running.get(Thread.currentThread());
        return new Attempts<>() {
            @Override
            T next(Routes route) throws X {
                try {
                    T result = inTransaction(route, shard, access, work, takenBack);
                    if (!access.readOnly()) {
                        preventRerun(around);
                    }
                    return result;
                } catch (CommitOutcomeUnknownException e) {
                    preventRerun(around); // It may have been committed.
                    throw e;
                }
            }

            @Override
            boolean isReadOnly() {
                return access.readOnly();
            }
        };
    }

    private static void preventRerun(@Nullable ShardAttempt attempt) {
        if (attempt != null) {
            attempt.preventRerun();
        }
    }

    /** Notes that the attempt that the calling thread is in, if any, has written for good or may have done so, and cannot be run again. */
    void preventRerun() {
        preventRerun(running.get(Thread.currentThread()));
    }

    /** The attempts at one piece of work. */
    private abstract static class Attempts<T extends @Nullable Object, X extends Exception> {

        private int count;
        private @Nullable Routes last;
        final TakenBack takenBack = new TakenBack();

        abstract T next(Routes route) throws X;

        /** Whether a failed attempt has left nothing behind. */
        boolean mayRepeat() {
            return true;
        }

        /** Whether the latest attempt could not write. */
        abstract boolean isReadOnly();
    }

    /** Runs work, and notifies the listeners of it. */
    private <T extends @Nullable Object, X extends Exception> T observed(int shard, Attempts<T, X> attempts) throws X {
        RunningWork observer = listener.workBegan(routes().pool(shard).server(), shard);
        if (observer == null) {
            return untilDone(shard, attempts);
        }
        Throwable failure = null;
        try {
            return untilDone(shard, attempts);
        } catch (Throwable e) {
            failure = e;
            throw e;
        } finally {
            Server server = Objects.requireNonNull(attempts.last).pool(shard).server();
            observer.ended(server, attempts.isReadOnly(), attempts.count, failure);
        }
    }

    private <T extends @Nullable Object, X extends Exception> T untilDone(int shard, Attempts<T, X> attempts) throws X {
        try {
            return untilFinished(shard, attempts);
        } catch (Throwable e) {
            ShardAttempt around = running.get(Thread.currentThread());
            if (around != null) {
                around.takenBack().add(attempts.takenBack); // The work around it may yet be run again.
            }
            throw e;
        }
    }

    private <T extends @Nullable Object, X extends Exception> T untilFinished(int shard, Attempts<T, X> attempts)
            throws X {
        Retry retry = null;
        while (true) {
            Routes tried = routes();
            attempts.count++;
            attempts.last = tried;
            try {
                return attempts.next(tried);
            } catch (Exception e) {
                if (e instanceof PoolClosedException) {
                    pools.checkCut();
                } else if (SqlFailure.isFence(e)) {
                    pools.lookAgain(shard);
                }
                if (retry == null) {
                    retry = newRetry();
                }
                if (!attempts.mayRepeat()
                        || !retry.again(
                                e,
                                tried.map().placement(shard),
                                tried.map().version(),
                                () -> tried.pool(shard)
                                        .lacks(List.of(shard), mayHoldConnection())
                                        .isPresent())) {
                    throw e;
                }
                attempts.takenBack.takeBack();
            }
        }
    }

    /** Runs work whose transactions a framework ends; see {@link ShardAttempt}. */
    <T extends @Nullable Object, X extends Exception> T attempt(
            ShardKey key, boolean isRepeatable, AttemptWork<T, X> work) throws X {
        int shard = map().shard(key);
        ShardTransaction outer = open.current();
        if (outer != null) {
            outer.require(key);
            return outer.isOfAttempt()
                    ? work.run(running.getOrDefault(Thread.currentThread(), ShardAttempt.inside(outer, this)))
                    : join(outer, shard, Access.READ, tx -> work.run(ShardAttempt.inside(tx, this)));
        }
        enter();
        try {
            return observed(shard, new Attempts<T, X>() {
                private ShardAttempt last = ShardAttempt.of(key, shard, ShardExecutor.this, takenBack);

                @Override
                T next(Routes route) throws X {
                    last = ShardAttempt.of(key, shard, ShardExecutor.this, takenBack);
                    return run(last, work);
                }

                @Override
                boolean mayRepeat() {
                    return isRepeatable && !last.isRerunPrevented();
                }

                @Override
                boolean isReadOnly() {
                    return !last.mayWrite();
                }
            });
        } finally {
            leave();
        }
    }

    private <T extends @Nullable Object, X extends Exception> T run(ShardAttempt attempt, AttemptWork<T, X> work)
            throws X {
        ShardAttempt around = running.put(Thread.currentThread(), attempt);
        try {
            return work.run(attempt);
        } catch (Exception e) {
            attempt.throwIfUnknown(e);
            throw e;
        } finally {
            if (around == null) {
                running.remove(Thread.currentThread());
            } else {
                running.put(Thread.currentThread(), around);
                if (attempt.isRerunPrevented()) {
                    around.preventRerun();
                }
            }
        }
    }

    /** The attempt or transaction that the calling thread is in. */
    @Nullable
    ShardAttempt currentAttempt() {
        ShardTransaction tx = open.current();
        return tx != null && !tx.isOfAttempt() ? ShardAttempt.inside(tx, this) : running.get(Thread.currentThread());
    }

    private static <T extends @Nullable Object, X extends Exception> T join(
            ShardTransaction outer, int shard, Access access, ShardWork<T, X> work) throws X {
        outer.requireShard(shard, "the work");
        if (outer.isReadOnly() && !access.readOnly()) {
            throw new IllegalStateException(
                    "a write inside a read of shard %s; make the outer one a write".formatted(shard));
        }
        try {
            return work.run(outer);
        } catch (Throwable failure) {
            outer.failed();
            throw failure;
        }
    }

    private <T extends @Nullable Object, X extends Exception> T inTransaction(
            Routes route, int shard, Access access, ShardWork<T, X> work, TakenBack takenBack) throws X {
        ServerPool pool = route.pool(shard);
        long start = System.nanoTime();
        boolean committed = false;
        LeasedConnection connection = pool.connection(access, shard);
        ShardTransaction tx = new ShardTransaction(route.map(), shard, access, connection, takenBack);
        try {
            begin(connection, access, pool);
            T result = run(tx, work, connection);
            commit(tx, connection, pool);
            committed = true;
            return result;
        } finally {
            giveBack(connection);
            tx.lookups().ended(committed);
            listener.transactionEnded(
                    pool.server(), access.readOnly(), committed, Duration.ofNanos(System.nanoTime() - start));
        }
    }

    static void begin(LeasedConnection connection, Access access, ServerPool pool) {
        try {
            if (access.readOnly()) {
                connection.setReadOnly(true);
            }
            connection.setAutoCommit(false);
            connection.keepTransaction();
        } catch (SQLException e) {
            throw new ShardSqlException("begin a transaction", pool.server().name(), e);
        }
    }

    private <T extends @Nullable Object, X extends Exception> T run(
            ShardTransaction tx, ShardWork<T, X> work, Connection connection) throws X {
        open.enter(tx);
        try {
            return work.run(tx);
        } catch (Throwable failure) {
            rollback(connection, failure);
            throw failure;
        } finally {
            open.enter(null);
        }
    }

    static void rollback(Connection connection, Throwable failure) {
        try {
            connection.rollback();
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    static void commit(ShardTransaction tx, LeasedConnection connection, ServerPool pool) {
        try {
            commit(tx::checkCommittable, connection, tx.isReadOnly(), pool);
        } catch (CommitOutcomeUnknownException e) {
            tx.lookups().leave();
            throw e;
        }
    }

    /** A check that must pass before the commit. */
    @FunctionalInterface
    interface CommitCheck {
        void run() throws SQLException;
    }

    static void commit(CommitCheck check, LeasedConnection connection, boolean readOnly, ServerPool pool) {
        try {
            check.run();
            connection.commit();
        } catch (SQLException e) {
            boolean answered = isAnswer(connection, e);
            rollback(connection, e);
            if (readOnly || answered) {
                throw new ShardSqlException("commit", pool.server().name(), e);
            }
            throw new CommitOutcomeUnknownException(
                    connection.shard(), pool.server().name(), e);
        }
    }

    /** Whether the server itself refused to commit and the connection survived. */
    private static boolean isAnswer(Connection connection, SQLException e) {
        try {
            return e instanceof NotCommittableException || (SqlFailure.isAnswer(e) && !connection.isClosed());
        } catch (SQLException broken) {
            return false;
        }
    }

    static void giveBack(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            // The pool has dropped the connection; the outcome of the work is decided by now.
        }
    }

    /** A connection in auto-commit mode, or the connection of the thread's transaction. */
    Connection connection(ShardKey key) {
        int shard = map().shard(key);
        ShardTransaction outer = open.current();
        if (outer != null) {
            outer.require(key);
            return outer.connection();
        }
        requireNoOldDatabase("a connection whose work the router cannot run again");
        AttemptConnection.Loan loan = lend(shard);
        return plain(loan, loan.connection());
    }

    /** Wraps a connection so that listeners are notified of its transactions. */
    DirectConnection plain(AttemptConnection.Loan loan, ForwardingConnection connection) {
        Server server = loan.routes().pool(loan.connection().shard()).server();
        return new DirectConnection(
                connection,
                (readOnly, committed, duration) -> listener.transactionEnded(server, readOnly, committed, duration),
                this::preventRerun);
    }

    /** A statement in auto-commit mode, which may be repeated if its outcome is unknown. */
    @FunctionalInterface
    interface Alone<T> {
        T run(Connection connection, String server);
    }

    /** Runs a statement on a shard outside of the transaction that the thread may be in; waits for a move, like a write. */
    <T> T alone(int shard, Access access, Alone<T> statement) {
        boolean isInside = mayHoldConnection();
        return untilDone(shard, new Attempts<T, RuntimeException>() {
            @Override
            T next(Routes route) {
                ServerPool pool = route.pool(shard);
                LeasedConnection connection = isInside ? pool.sideConnection(shard) : pool.connection(access, shard);
                try {
                    return statement.run(connection, pool.server().name());
                } finally {
                    giveBack(connection);
                }
            }

            @Override
            boolean isReadOnly() {
                return access.readOnly();
            }
        });
    }

    /** Whether the calling thread may hold a pooled connection already, and so must not wait for another from the same pool. */
    private boolean mayHoldConnection() {
        return running.containsKey(Thread.currentThread()) || open.current() != null;
    }

    /** Lends a connection to the server of a shard. */
    AttemptConnection.Loan lend(int shard) {
        enter();
        boolean oldDatabaseRefused = false;
        try {
            while (true) {
                Routes route = routes();
                ServerPool pool = route.pool(shard);
                try {
                    LeasedConnection connection = pool.connection(Access.WRITE, shard);
                    // While a shard goes back both refuse it, and its server still has the rows.
                    if ((oldDatabaseRefused && !pool.isOld()) || isAdmitted(connection, pool)) {
                        return new AttemptConnection.Loan(route, connection);
                    }
                    if (pool.isOld()) {
                        oldDatabaseRefused = true;
                    } else {
                        pools.lookAgain(shard);
                    }
                } catch (PoolClosedException e) {
                    pools.checkCut();
                }
            }
        } finally {
            leave();
        }
    }

    /** Whether the server has the shard; if not, the connection is returned to the pool. */
    private static boolean isAdmitted(LeasedConnection connection, ServerPool pool) {
        boolean isAdmitted = false;
        try {
            isAdmitted = connection.isAdmitted();
            return isAdmitted;
        } catch (SQLException e) {
            throw new ShardSqlException("ask for a shard", pool.server().name(), e);
        } finally {
            if (!isAdmitted) {
                giveBack(connection);
            }
        }
    }

    /** Refuses work that cannot run while shards may still be in an old database. */
    void requireNoOldDatabase(String what) {
        if (routes().hasOldDatabase()) {
            throw new IllegalStateException(
                    "%s is refused, since shards may still be in the old database. Give the router work on one shard, or use a router without an old database once all shards have left it"
                            .formatted(what));
        }
    }

    /** Runs a read over many shards. */
    <T> T overMany(Supplier<T> read) {
        requireNoTransaction();
        requireNoOldDatabase("a read over many shards");
        enter();
        try {
            return read.get();
        } finally {
            leave();
        }
    }

    private void requireNoTransaction() {
        ShardTransaction outer = open.current();
        if (outer != null) {
            throw new IllegalStateException(
                    "a read over many shards inside the transaction of shard %s; end the transaction first"
                            .formatted(outer.shard()));
        }
    }
}
