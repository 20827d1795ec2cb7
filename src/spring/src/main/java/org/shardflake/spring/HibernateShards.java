/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.function.Supplier;
import org.hibernate.context.spi.CurrentTenantIdentifierResolver;
import org.hibernate.engine.jdbc.connections.spi.MultiTenantConnectionProvider;
import org.shardflake.ShardKey;
import org.shardflake.Sharding;
import org.shardflake.router.ShardAttempt;
import org.shardflake.router.ShardRouter;

/**
 * Presents shards to Hibernate as tenants, named by the shards' schemas. So a session belongs to one shard, and what the second-level cache
 * keeps does, too. Thread-safe.
 */
final class HibernateShards implements MultiTenantConnectionProvider<String>, CurrentTenantIdentifierResolver<String> {

    @Serial
    private static final long serialVersionUID = 1L;

    /** The tenant of sessions that a thread without a shard opens; such sessions cannot do anything. */
    private static final String NO_SHARD = "no shard";

    private final transient Supplier<ShardRouter> router;

    HibernateShards(Supplier<ShardRouter> router) {
        this.router = router;
    }

    /** The shard number in the name of a shard's schema. */
    static int shard(String schema) {
        return Integer.parseInt(schema.substring(schema.lastIndexOf('_') + 1));
    }

    @Override
    public String resolveCurrentTenantIdentifier() {
        ShardAttempt attempt = router.get().currentAttempt();
        return attempt == null ? NO_SHARD : Sharding.schema(attempt.shard());
    }

    @Override
    public boolean validateExistingCurrentSessions() {
        return true;
    }

    @Override
    public Connection getConnection(String tenant) throws SQLException {
        ShardAttempt attempt = router.get().currentAttempt();
        if (attempt == null) {
            throw new NoShardException();
        }
        if (!tenant.equals(Sharding.schema(attempt.shard()))) {
            throw new SQLException(
                    "the session of Hibernate is of %s, but this thread is on shard %s: open a session for each shard"
                            .formatted(tenant, attempt.shard()),
                    "08003");
        }
        return attempt.isInside() ? JoinedConnection.of(attempt) : attempt.connection();
    }

    @Override
    public void releaseConnection(String tenant, Connection connection) throws SQLException {
        connection.close();
    }

    /** A connection to the first shard, on whichever server it is. */
    static Connection ofFirstShard(ShardRouter router) throws SQLException {
        return router.hasOldDatabase()
                ? router.attempt(ShardKey.shard(0), false, ShardAttempt::connection)
                : router.connection(ShardKey.shard(0));
    }

    /** A connection for Hibernate's queries at start-up, which find the tables of the first shard. */
    @Override
    public Connection getAnyConnection() throws SQLException {
        Connection connection = ofFirstShard(router.get());
        try {
            connection.setReadOnly(true);
            if (!router.get().hasOldDatabase()) {
                connection.setSchema(Sharding.schema(0));
            }
            return connection;
        } catch (SQLException e) {
            try {
                connection.close();
            } catch (SQLException later) {
                e.addSuppressed(later);
            }
            throw e;
        }
    }

    @Override
    public void releaseAnyConnection(Connection connection) throws SQLException {
        connection.close();
    }

    @Override
    public boolean supportsAggressiveRelease() {
        return false;
    }

    @Override
    public boolean isUnwrappableAs(Class<?> type) {
        return type.isInstance(this);
    }

    @Override
    public <T> T unwrap(Class<T> type) {
        return type.cast(this);
    }
}
