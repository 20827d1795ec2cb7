/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.router.exception.CommitOutcomeUnknownException;
import org.shardflake.router.exception.InterruptedWorkException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.router.internal.jdbc.TransactionConnection;
import org.shardflake.router.internal.pool.Access;
import org.shardflake.router.internal.pool.PoolClosedException;
import org.shardflake.router.internal.pool.ServerPool;
import org.shardflake.router.internal.session.LeasedConnection;
import org.shardflake.router.internal.session.SqlFailure;

/**
 * Reads and writes reference tables, which are the same on every server, in schema {@code reference}. Thread-safe; {@link
 * ShardRouter#reference} gives it.
 *
 * <p>They are written on one server, their home, and arrive on the others a moment later. Work on a shard joins them on the spot. Writers
 * come one after the other, so transactions should be short. A row is deleted with {@code shardflake reference delete}.
 */
public final class ReferenceAccess {

    private static final String HOME = "SELECT server FROM shardflake.reference_home";
    private static final String IS_HOME = HOME + " WHERE mode OPERATOR(pg_catalog.=) 'home'";
    private static final String VERSION = "SELECT version FROM shardflake.reference_version";
    private static final String VERSION_OF_HOME =
            VERSION + " WHERE EXISTS (SELECT FROM shardflake.reference_home WHERE mode OPERATOR(pg_catalog.=) 'home')";
    private static final long LONGEST_PAUSE_MILLIS = 100;

    private final ShardExecutor executor;
    private final RetryPolicy retryPolicy;
    private final RouterListener listener;
    private volatile @Nullable String home;

    ReferenceAccess(ShardExecutor executor, RetryPolicy retryPolicy, RouterListener listener) {
        this.executor = executor;
        this.retryPolicy = retryPolicy;
        this.listener = listener;
    }

    /**
     * Runs work in a transaction on the home, and returns the work's result. If the home has just changed, or the connection is lost before the
     * commit, the work is run again.
     *
     * @throws X what the work throws; its transaction is rolled back
     * @throws ServerUnavailableException if the router cannot connect to the home
     * @throws CommitOutcomeUnknownException if the connection broke during the commit
     * @throws IllegalStateException inside a transaction on a shard
     */
    public <T extends @Nullable Object, X extends Exception> T write(ReferenceWork<T, X> work) throws X {
        return admitted(() -> {
            long start = System.nanoTime();
            for (int tried = 1; ; tried++) {
                try {
                    T result = inTransaction(homePool(), Access.WRITE, work);
                    executor.preventRerun();
                    return result;
                } catch (CommitOutcomeUnknownException e) {
                    executor.preventRerun(); // It may have been committed.
                    throw e;
                } catch (Exception e) {
                    boolean isLate =
                            System.nanoTime() - start > retryPolicy.deadline().toNanos();
                    if (!isRepeatable(e) || tried >= retryPolicy.maxTries() || isLate) {
                        throw e;
                    }
                    home = null;
                    pause(tried);
                }
            }
        });
    }

    /** Runs work in a read-only transaction on any server that answers. What was written a moment ago may be missing there. */
    public <T extends @Nullable Object, X extends Exception> T read(ReferenceWork<T, X> work) throws X {
        return admitted(() -> {
            List<ServerPool> pools = executor.routes().pools();
            int first = ThreadLocalRandom.current().nextInt(pools.size());
            for (int i = 0; ; i++) {
                try {
                    return inTransaction(pools.get((first + i) % pools.size()), Access.READ, work);
                } catch (Exception e) {
                    if (!isGone(e) || i + 1 == pools.size()) {
                        throw e;
                    }
                }
            }
        });
    }

    /**
     * Waits until every server has everything committed on the home so far, or until the time is up. Reports the time to the router's listener.
     *
     * @return false if a server lacks something at the end
     * @throws ServerUnavailableException if a server cannot be reached
     */
    public boolean awaitEverywhere(Duration timeout) {
        return admitted(() -> {
            long start = System.nanoTime();
            ServerPool from = homePool();
            String written = text(from, VERSION_OF_HOME);
            for (int tried = 0; written == null; tried++) { // The home has changed, or is changing.
                if (System.nanoTime() - start > timeout.toNanos()) {
                    return false;
                }
                sleep(Math.min(1L << Math.min(tried, 6), LONGEST_PAUSE_MILLIS));
                home = null;
                from = homePool();
                written = text(from, VERSION_OF_HOME);
            }
            long version = Long.parseLong(written);
            List<ServerPool> behind = new ArrayList<>(executor.routes().pools());
            behind.remove(from);
            for (int tried = 0; !behind.isEmpty(); tried++) {
                behind.removeIf(pool -> {
                    boolean arrived = number(pool, VERSION) >= version;
                    if (arrived) {
                        listener.referenceArrived(pool.server(), Duration.ofNanos(System.nanoTime() - start));
                    }
                    return arrived;
                });
                if (behind.isEmpty()) {
                    return true;
                }
                if (System.nanoTime() - start > timeout.toNanos()) {
                    return false;
                }
                sleep(Math.min(1L << Math.min(tried, 6), LONGEST_PAUSE_MILLIS));
            }
            return true;
        });
    }

    private interface Task<T extends @Nullable Object, X extends Exception> {
        T run() throws X;
    }

    private <T extends @Nullable Object, X extends Exception> T admitted(Task<T, X> task) throws X {
        ShardTransaction outer = executor.open().current();
        if (outer != null) {
            throw new IllegalStateException(
                    "separate work on reference tables inside the transaction of shard %s, whose connection can read them; to write, end it first"
                            .formatted(outer.shard()));
        }
        executor.requireNoOldDatabase("work on reference tables");
        executor.enter();
        try {
            return task.run();
        } finally {
            executor.leave();
        }
    }

    /** Whether a server cannot be reached, or has gone away, so that another one may be tried. */
    private static boolean isGone(Exception failure) {
        return failure instanceof ServerUnavailableException
                || failure instanceof PoolClosedException
                || SqlFailure.of(failure) == SqlFailure.LOST;
    }

    private boolean isRepeatable(Exception failure) {
        return switch (SqlFailure.of(failure)) {
            case ELSEWHERE, LOST, OUTDATED -> true;
            case SERIALIZATION -> retryPolicy.serializationFailures();
            case FENCED, NOT_ENTERED, MISSING, OTHER -> failure instanceof PoolClosedException;
        };
    }

    private ServerPool homePool() {
        String known = home;
        ServerPool pool = known == null ? null : pool(known);
        if (pool != null) {
            return pool;
        }
        String name = askForHome();
        pool = pool(name);
        if (pool == null) {
            throw new ShardflakeException(
                    "the home of reference tables, %s, is not in this router's shard map".formatted(name));
        }
        home = name;
        return pool;
    }

    private @Nullable ServerPool pool(String server) {
        return executor.routes().pools().stream()
                .filter(pool -> pool.server().name().equals(server))
                .findFirst()
                .orElse(null);
    }

    /**
     * Finds out which server is the home, preferably from the home itself. The records of other servers count only if no home answers, since
     * a server that was down may be out of date.
     */
    private String askForHome() {
        RuntimeException silent = null;
        for (String question : List.of(IS_HOME, HOME)) {
            for (ServerPool pool : executor.routes().pools()) {
                try {
                    String name = text(pool, question);
                    if (name != null) {
                        return name;
                    }
                } catch (RuntimeException e) {
                    if (!isGone(e)) {
                        throw e;
                    }
                    silent = e;
                }
            }
        }
        if (silent != null) {
            throw silent;
        }
        throw new ShardflakeException(
                ShardflakeException.Kind.PRECONDITION,
                "there are no reference tables",
                Advice.of("%s creates them", CliCommand.REFERENCE_DEPLOY_HOME),
                null);
    }

    private static long number(ServerPool pool, String sql) {
        String value = text(pool, sql);
        return value == null ? 0 : Long.parseLong(value);
    }

    private static @Nullable String text(ServerPool pool, String sql) {
        try (Connection connection = pool.connection(Access.READ, LeasedConnection.MANY_SHARDS);
                PreparedStatement statement = connection.prepareStatement(sql);
                ResultSet row = statement.executeQuery()) {
            return row.next() ? row.getString(1) : null;
        } catch (SQLException e) {
            throw new ShardSqlException(
                    "ask for reference tables", pool.server().name(), e);
        }
    }

    private <T extends @Nullable Object, X extends Exception> T inTransaction(
            ServerPool pool, Access access, ReferenceWork<T, X> work) throws X {
        long start = System.nanoTime();
        boolean committed = false;
        LeasedConnection connection = pool.connection(access, LeasedConnection.MANY_SHARDS);
        try {
            ShardExecutor.begin(connection, access, pool);
            T result = run(connection, work);
            ShardExecutor.commit(connection::requireCommittable, connection, access.readOnly(), pool);
            committed = true;
            return result;
        } finally {
            ShardExecutor.giveBack(connection);
            listener.transactionEnded(
                    pool.server(), access.readOnly(), committed, Duration.ofNanos(System.nanoTime() - start));
        }
    }

    private static <T extends @Nullable Object, X extends Exception> T run(
            Connection connection, ReferenceWork<T, X> work) throws X {
        try {
            return work.run(new TransactionConnection(connection));
        } catch (Throwable failure) {
            ShardExecutor.rollback(connection, failure);
            throw failure;
        }
    }

    private static void pause(int tried) {
        sleep(ThreadLocalRandom.current().nextLong(1, 2 + Math.min(1L << Math.min(tried, 6), LONGEST_PAUSE_MILLIS)));
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new InterruptedWorkException("reference tables", e);
        }
    }
}
