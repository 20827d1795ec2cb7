/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.ShardAttempt;
import org.shardflake.router.ShardRouter;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.JdbcTransactionObjectSupport;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionSuspensionNotSupportedException;
import org.springframework.transaction.support.DefaultTransactionStatus;

/**
 * Spring's own transactions on a JDBC connection, on the current shard. Adds what Spring cannot know: that there must be a shard, and that the
 * router may have begun a transaction already, which these then take part in.
 */
final class ShardTransactionManager extends JdbcTransactionManager {

    @Serial
    private static final long serialVersionUID = 1L;

    static final String NOT_SUSPENDABLE =
            "the router has begun this transaction and will end it; REQUIRES_NEW and NOT_SUPPORTED are not possible inside write and read of ShardRouter";

    private final transient ShardRouter router;

    ShardTransactionManager(ShardRouter router, DataSource dataSource) {
        super(dataSource);
        this.router = router;
        setExceptionTranslator(new ShardExceptionTranslator());
    }

    /** The transaction object, with the connection of a router's transaction if there is one. */
    @Override
    protected Object doGetTransaction() {
        Object transaction = super.doGetTransaction();
        ShardAttempt attempt = router.currentAttempt();
        if (attempt != null && attempt.isInside() && transaction instanceof JdbcTransactionObjectSupport object) {
            try {
                object.setConnectionHolder(new ConnectionHolder(attempt.connection()));
            } catch (SQLException e) {
                throw translateException("join the transaction of the router", e);
            }
        }
        return transaction;
    }

    @Override
    protected boolean isExistingTransaction(Object transaction) {
        return isOfSpring(transaction) || isInside();
    }

    private boolean isOfSpring(Object transaction) {
        return super.isExistingTransaction(transaction);
    }

    private boolean isInside() {
        ShardAttempt attempt = router.currentAttempt();
        return attempt != null && attempt.isInside();
    }

    private ShardAttempt attempt() {
        return attempt(router);
    }

    static ShardAttempt attempt(ShardRouter router) {
        ShardAttempt attempt = router.currentAttempt();
        if (attempt == null) {
            NoShardException cause = new NoShardException();
            throw new IllegalTransactionStateException(
                    cause.framework() == null
                            ? "a transaction needs a shard, and " + CurrentShardDataSource.NO_SHARD
                                    + ". @OnShard belongs on the method that begins the transaction, not only on one inside it"
                            : "a transaction needs a shard. " + cause.getMessage(),
                    cause);
        }
        return attempt;
    }

    @Override
    protected void doBegin(Object transaction, TransactionDefinition definition) {
        attempt();
        super.doBegin(transaction, definition);
    }

    /** The resources that Spring and the router have each suspended. */
    private record Suspended(Object ofSpring, @Nullable Object ofRouter) {}

    @Override
    protected Object doSuspend(Object transaction) {
        if (!isOfSpring(transaction)) {
            throw new TransactionSuspensionNotSupportedException(NOT_SUSPENDABLE);
        }
        Object ofRouter = attempt().suspend();
        return new Suspended(super.doSuspend(transaction), ofRouter);
    }

    @Override
    protected void doResume(@Nullable Object transaction, Object suspendedResources) {
        Suspended suspended = (Suspended) suspendedResources;
        attempt().resume(suspended.ofRouter());
        super.doResume(transaction, suspended.ofSpring());
    }

    @Override
    protected void doSetRollbackOnly(DefaultTransactionStatus status) {
        if (isOfSpring(status.getTransaction())) {
            super.doSetRollbackOnly(status);
        } else {
            attempt().rollbackOnly();
        }
    }
}
