/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** A data source whose first connection can be opened ahead, to see whether the server lets us in. Thread-safe. */
final class FirstLogin implements DataSource {

    private final DataSource source;
    private final AtomicReference<@Nullable Connection> opened = new AtomicReference<>();

    FirstLogin(DataSource source) {
        this.source = source;
    }

    /** Connects, for whoever asks first. */
    void open() throws SQLException {
        opened.set(source.getConnection());
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection first = opened.getAndSet(null);
        return first != null ? first : source.getConnection();
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        return source.getConnection(user, password);
    }

    @Override
    public PrintWriter getLogWriter() throws SQLException {
        return source.getLogWriter();
    }

    @Override
    public void setLogWriter(PrintWriter out) throws SQLException {
        source.setLogWriter(out);
    }

    @Override
    public void setLoginTimeout(int seconds) throws SQLException {
        source.setLoginTimeout(seconds);
    }

    @Override
    public int getLoginTimeout() throws SQLException {
        return source.getLoginTimeout();
    }

    @Override
    public Logger getParentLogger() throws java.sql.SQLFeatureNotSupportedException {
        return source.getParentLogger();
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        return type.isInstance(source) ? type.cast(source) : source.unwrap(type);
    }

    @Override
    public boolean isWrapperFor(Class<?> type) throws SQLException {
        return type.isInstance(source) || source.isWrapperFor(type);
    }
}
