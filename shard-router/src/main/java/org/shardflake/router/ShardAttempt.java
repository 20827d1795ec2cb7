/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeException;
import org.shardflake.router.exception.CommitOutcomeUnknownException;
import org.shardflake.router.internal.session.SearchPathConnection;

/**
 * One run of the work given to {@link ShardRouter#attempt}, with its connections, on which a framework begins and ends transactions.
 *
 * <p>For the thread that runs the work, while it runs.
 */
public final class ShardAttempt {

    private final ShardExecutor executor;
    private final ShardKey key;
    private final int shard;
    private final @Nullable ShardTransaction around;
    private final TakenBack takenBack;
    private boolean mayWrite;
    private boolean isRerunPrevented;
    private @Nullable CommitOutcomeUnknownException unknown;

    private ShardAttempt(
            ShardExecutor executor, ShardKey key, int shard, @Nullable ShardTransaction around, TakenBack takenBack) {
        this.executor = executor;
        this.key = key;
        this.shard = shard;
        this.around = around;
        this.takenBack = takenBack;
    }

    /** An attempt that leases its own connections. */
    static ShardAttempt of(ShardKey key, int shard, ShardExecutor executor, TakenBack takenBack) {
        return new ShardAttempt(executor, key, shard, null, takenBack);
    }

    /** An attempt inside a transaction that the router ends. */
    static ShardAttempt inside(ShardTransaction tx, ShardExecutor executor) {
        return new ShardAttempt(executor, ShardKey.shard(tx.shard()), tx.shard(), tx, tx.takenBack());
    }

    /** The key that the work was given with. */
    public ShardKey key() {
        return key;
    }

    /** The logical shard: 0..8191. */
    public int shard() {
        return shard;
    }

    /**
     * A connection to the shard's server, in auto-commit mode, on which a table without a schema is the shard's. The
     * caller closes it.
     *
     * <p>A transaction on it is like that of {@link ShardRouter#write}, or of {@link ShardRouter#read} if the connection
     * was made read-only before: work that this thread gives to the router meanwhile joins it, and its commit asks
     * whether the shard is still there. If the connection breaks during the commit, nobody knows whether it was done, and
     * the work is not run again.
     *
     * <p>If the work {@linkplain #isInside is inside} a transaction of the router, this is the connection of that: it
     * refuses to commit and ignores {@code close}.
     *
     * @throws SQLException if there is none, caused by what {@link ShardRouter#connection} throws
     */
    public Connection connection() throws SQLException {
        if (around != null) {
            return new DirectConnection(
                    new SearchPathConnection(around.connection(), around.lent()),
                    (readOnly, committed, duration) -> {
                        // The router tells of its transactions itself.
                    },
                    () -> {
                        // They are effects only when the router commits.
                    });
        }
        try {
            AttemptConnection.Loan loan = executor.lend(shard);
            return executor.plain(loan, new AttemptConnection(loan, this, executor));
        } catch (ShardflakeException | IllegalStateException e) {
            // Frameworks expect the exceptions that JDBC declares.
            throw new SQLException(e.getMessage(), "08001", e);
        }
    }

    /** Whether this is work inside a transaction that {@link ShardRouter#write} or {@code read} manages. */
    public boolean isInside() {
        return around != null;
    }

    /** Makes the router's transaction that surrounds this work roll back at its end. */
    public void rollbackOnly() {
        if (around == null) {
            throw new IllegalStateException("not inside a transaction of the router: roll the connection back");
        }
        around.failed();
    }

    /**
     * Hides the transaction of this thread from the router until {@link #resume}, so that work does not join it.
     *
     * @return what {@code resume} takes: null if there is no transaction
     */
    public @Nullable Object suspend() {
        return executor.open().enter(null);
    }

    /** Makes the transaction that {@link #suspend} has hidden current again. */
    public void resume(@Nullable Object suspended) {
        executor.open().enter((ShardTransaction) suspended);
    }

    /**
     * The record of what this run changes in the caller's objects, created on first use and undone before the next run. Inside a transaction of
     * the router, the run is that of the work given to {@code write} or {@code read}.
     *
     * @param first makes it when it is asked for first
     */
    public <T extends TakeBack> T beforeNextRun(Class<T> type, Supplier<T> first) {
        return takenBack.get(type, first);
    }

    TakenBack takenBack() {
        return takenBack;
    }

    /** Notes a transaction that is not read-only, or a statement in auto-commit mode. */
    void usedForWriting() {
        mayWrite = true;
    }

    boolean mayWrite() {
        return mayWrite;
    }

    /** Notes that something was or may have been written permanently, so that the work cannot run again. */
    void preventRerun() {
        isRerunPrevented = true;
    }

    boolean isRerunPrevented() {
        return isRerunPrevented;
    }

    /** Notes a commit whose outcome is unknown. */
    void isUnknown(CommitOutcomeUnknownException e) {
        isRerunPrevented = true;
        unknown = e;
    }

    /** Throws the work's own failure, unless the outcome of one of its commits is unknown. */
    void throwIfUnknown(Exception failure) {
        if (unknown != null) {
            unknown.addSuppressed(failure);
            throw unknown;
        }
    }
}
