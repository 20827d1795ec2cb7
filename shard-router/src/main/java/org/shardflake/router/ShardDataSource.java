/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.ConnectionBuilder;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.ShardingKeyBuilder;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.internal.jdbc.ShardKeyBuilder;

/** The router as a JDBC 4.3 data source: connections by sharding key. */
final class ShardDataSource implements DataSource {

    private final ShardRouter router;

    ShardDataSource(ShardRouter router) {
        this.router = router;
    }

    @Override
    public ConnectionBuilder createConnectionBuilder() {
        return new ShardConnectionBuilder(router);
    }

    @Override
    public ShardingKeyBuilder createShardingKeyBuilder() {
        return new ShardKeyBuilder();
    }

    @Override
    public Connection getConnection() throws SQLException {
        return createConnectionBuilder().build();
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        throw new SQLFeatureNotSupportedException("the router logs in with the credentials it was built with");
    }

    @Override
    public @Nullable PrintWriter getLogWriter() {
        return null;
    }

    @Override
    public void setLogWriter(PrintWriter out) throws SQLException {
        throw new SQLFeatureNotSupportedException("the router logs by SLF4J");
    }

    @Override
    public void setLoginTimeout(int seconds) throws SQLException {
        throw new SQLFeatureNotSupportedException("set the connection timeout when building the router");
    }

    @Override
    public int getLoginTimeout() {
        return 0;
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        throw new SQLFeatureNotSupportedException("the router logs by SLF4J");
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        if (type.isInstance(this)) {
            return type.cast(this);
        }
        if (type.isInstance(router)) {
            return type.cast(router);
        }
        throw new SQLException("this data source is not a " + type.getName());
    }

    @Override
    public boolean isWrapperFor(Class<?> type) {
        return type.isInstance(this) || type.isInstance(router);
    }
}
