/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.router.internal.jdbc.ForwardingDataSource;

/** A data source whose first connection can be opened early, to check the login. Thread-safe. */
public final class FirstLogin extends ForwardingDataSource {

    private final AtomicReference<@Nullable Connection> opened = new AtomicReference<>();

    public FirstLogin(PGSimpleDataSource source) {
        super(source);
    }

    /** Opens the connection that the first caller gets. */
    public void open() throws SQLException {
        opened.set(super.getConnection());
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection first = opened.getAndSet(null);
        return first != null ? first : super.getConnection();
    }
}
