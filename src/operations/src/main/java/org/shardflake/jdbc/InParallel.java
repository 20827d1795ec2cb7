/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.postgresql.PGConnection;
import org.shardflake.ShardflakeException;

/** Runs one query on each of two servers, in parallel. */
public final class InParallel {

    private static final ExecutorService THREADS = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "shardflake move, comparing");
        thread.setDaemon(true);
        return thread;
    });

    private InParallel() {}

    @FunctionalInterface
    public interface Query<T> {
        T run() throws SQLException;
    }

    /** The results of the two queries. */
    public record Pair<T>(T first, T second) {
        public boolean areEqual() {
            return Objects.equals(first, second);
        }
    }

    /** Runs a query on two servers concurrently. If it fails on the first, it is cancelled on the second, whose connection is free then. */
    public static <T> Pair<T> both(Connection first, Connection second, Sql.Query<T> query) throws SQLException {
        Future<T> other = start(() -> query.run(second));
        T result;
        try {
            result = query.run(first);
        } catch (SQLException | RuntimeException e) {
            end(other, second, e);
            throw e;
        }
        return new Pair<>(result, await(other));
    }

    private static <T> void end(Future<T> running, Connection connection, Exception failure) {
        try {
            // Once more if it had not begun.
            while (!isDone(running)) {
                connection.unwrap(PGConnection.class).cancelQuery();
            }
            await(running);
        } catch (SQLException | RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private static boolean isDone(Future<?> running) {
        try {
            running.get(100, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return true;
    }

    public static <T> Future<T> start(Query<T> query) {
        return THREADS.submit(query::run);
    }

    public static <T> T await(Future<T> query) throws SQLException {
        try {
            return query.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException sql) {
                throw sql;
            }
            throw new IllegalStateException("a comparison failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ShardflakeException("interrupted while comparing", e);
        }
    }
}
