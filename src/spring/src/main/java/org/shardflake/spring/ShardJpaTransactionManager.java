/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import jakarta.persistence.EntityManagerFactory;
import java.io.Serial;
import javax.sql.DataSource;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.router.ShardAttempt;
import org.shardflake.router.ShardRouter;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionSuspensionNotSupportedException;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Spring's own JPA transactions, on the current shard; JDBC and jOOQ take part in them. Inside a transaction of the router Hibernate has one of
 * its own, which the router ends; see {@link JoinedConnection}.
 */
final class ShardJpaTransactionManager extends JpaTransactionManager {

    @Serial
    private static final long serialVersionUID = 1L;

    private final transient ShardRouter router;

    ShardJpaTransactionManager(ShardRouter router, DataSource dataSource, EntityManagerFactory entityManagers) {
        super(entityManagers);
        this.router = router;
        setDataSource(dataSource);
    }

    private ShardAttempt attempt() {
        return ShardTransactionManager.attempt(router);
    }

    @Override
    protected void doBegin(Object transaction, TransactionDefinition definition) {
        ShardAttempt attempt = attempt();
        if (attempt.isInside()
                && definition.getPropagationBehavior() == TransactionDefinition.PROPAGATION_REQUIRES_NEW) {
            throw notSuspendable();
        }
        requireSessionOf(attempt);
        super.doBegin(transaction, definition);
    }

    /** Requires that an open session, such as that of a web request, belongs to the current shard. */
    private void requireSessionOf(ShardAttempt attempt) {
        Object resource = TransactionSynchronizationManager.getResource(obtainEntityManagerFactory());
        if (resource instanceof EntityManagerHolder holder) {
            Object tenant = holder.getEntityManager()
                    .unwrap(SharedSessionContractImplementor.class)
                    .getTenantIdentifierValue();
            if (!Sharding.schema(attempt.shard()).equals(tenant)) {
                throw new IllegalTransactionStateException(
                        "this thread has a session of Hibernate that is of %s, and a transaction of shard %s cannot use it. Set spring.jpa.open-in-view=false"
                                .formatted(tenant, attempt.shard()));
            }
        }
    }

    /** The resources that Spring and the router have each suspended. */
    private record Suspended(Object ofSpring, @Nullable Object ofRouter) {}

    @Override
    protected Object doSuspend(Object transaction) {
        if (attempt().isInside()) {
            throw notSuspendable();
        }
        Object ofRouter = attempt().suspend();
        return new Suspended(super.doSuspend(transaction), ofRouter);
    }

    private static TransactionSuspensionNotSupportedException notSuspendable() {
        return new TransactionSuspensionNotSupportedException(ShardTransactionManager.NOT_SUSPENDABLE);
    }

    @Override
    protected void doResume(@Nullable Object transaction, Object suspendedResources) {
        Suspended suspended = (Suspended) suspendedResources;
        attempt().resume(suspended.ofRouter());
        super.doResume(transaction, suspended.ofSpring());
    }
}
