/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.exception.CommitOutcomeUnknownException;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.router.internal.pool.Access;
import org.shardflake.router.internal.pool.Routes;
import org.shardflake.router.internal.session.LeasedConnection;
import org.shardflake.router.internal.session.SearchPathConnection;

/** A connection on which a framework begins and ends transactions; the router keeps track of the open ones. For one thread at a time. */
final class AttemptConnection extends SearchPathConnection {

    private final Routes routes;
    private final LeasedConnection lent;
    private final ShardAttempt attempt;
    private final ShardExecutor executor;
    /** The current transaction, or the one about to begin; null in auto-commit mode. */
    private @Nullable ShardTransaction tx;
    /** The thread's previous transaction, which becomes current again afterwards. */
    private @Nullable ShardTransaction before;

    AttemptConnection(Loan loan, ShardAttempt attempt, ShardExecutor executor) {
        super(loan.connection(), loan.connection());
        this.routes = loan.routes();
        this.lent = loan.connection();
        lent.keepTransaction();
        this.attempt = attempt;
        this.executor = executor;
    }

    /** A leased connection, and the routes that it was chosen by. */
    record Loan(Routes routes, LeasedConnection connection) {}

    @Override
    protected void noteUse() throws SQLException {
        // Without a transaction, too, Spring keeps a connection for the thread.
        ShardAttempt current = executor.currentAttempt();
        if (current != null && current.shard() != attempt.shard()) {
            throw new CrossShardException(
                    "%s is in shard %s, but this connection is of shard %s, for %s; begin a transaction for each shard, or leave this one's work first"
                            .formatted(current.key(), current.shard(), attempt.shard(), attempt.key()),
                    attempt.shard(),
                    current.shard());
        }
        if (tx == null && !lent.isReadOnly()) {
            attempt.usedForWriting();
            attempt.preventRerun(); // Each statement commits by itself.
        }
    }

    @Override
    public void setAutoCommit(boolean autoCommit) throws SQLException {
        if (autoCommit && tx != null && lent.isInTransaction()) {
            commit(); // As JDBC specifies.
        }
        super.setAutoCommit(autoCommit);
        if (autoCommit) {
            end();
        } else if (tx == null) {
            tx = next(lent.isReadOnly());
            before = executor.open().enter(tx);
        }
    }

    private ShardTransaction next(boolean readOnly) {
        if (!readOnly) {
            attempt.usedForWriting();
        }
        return new ShardTransaction(
                routes.map(),
                attempt.shard(),
                readOnly ? Access.READ : Access.WRITE,
                lent,
                attempt.takenBack(),
                attempt.key());
    }

    @Override
    public void commit() throws SQLException {
        ShardTransaction ending = tx;
        if (ending == null) {
            super.commit(); // which the driver refuses
            return;
        }
        boolean committed = false;
        try {
            ShardExecutor.commit(ending, lent, routes.pool(attempt.shard()));
            committed = true;
            if (!ending.isReadOnly()) {
                attempt.preventRerun();
            }
        } catch (ShardSqlException e) {
            throw e.getCause() instanceof SQLException refused ? refused : new SQLException(e);
        } catch (CommitOutcomeUnknownException e) {
            attempt.isUnknown(e);
            throw new SQLException(e.getMessage(), "08007", e);
        } finally {
            ended(committed);
        }
    }

    /** Rolls back, unless the transaction was lost with its connection. */
    @Override
    public void rollback() throws SQLException {
        try {
            if (!isClosed()) {
                super.rollback();
            }
        } finally {
            ended(false);
        }
    }

    /** Starts the next transaction after one has ended, unless the connection is in auto-commit mode. */
    private void ended(boolean committed) {
        forgetPath();
        ShardTransaction ended = tx;
        if (ended != null) {
            ended.lookups().ended(committed);
            tx = next(ended.isReadOnly());
            executor.open().replace(ended, tx);
        }
    }

    private void end() {
        forgetPath();
        if (tx != null) {
            executor.open().replace(tx, before);
            tx = null;
            before = null;
        }
    }

    @Override
    public void close() throws SQLException {
        ShardTransaction left = tx;
        end();
        super.close();
        if (left != null) {
            left.lookups().ended(false);
        }
    }

    @Override
    public String toString() {
        return "connection of " + attempt.key() + ", shard " + attempt.shard();
    }
}
