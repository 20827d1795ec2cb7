/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.Executor;

/**
 * A connection that cannot end its transaction.
 *
 * <p>Work that committed halfway could not be run again from the start. Frameworks routinely close their connection and
 * restore its auto-commit mode, so those calls are ignored.
 */
public final class TransactionConnection extends ForwardingConnection {

    public TransactionConnection(Connection connection) {
        super(connection);
    }

    @Override
    public void close() {
        // The router gives the connection back.
    }

    @Override
    public void setAutoCommit(boolean autoCommit) throws SQLException {
        if (autoCommit) {
            throw refuse("setAutoCommit(true)");
        }
    }

    @Override
    public void commit() throws SQLException {
        throw refuse("commit");
    }

    @Override
    public void rollback() throws SQLException {
        throw refuse("rollback");
    }

    @Override
    public void abort(Executor executor) throws SQLException {
        throw refuse("abort");
    }

    @Override
    public void setReadOnly(boolean readOnly) throws SQLException {
        throw refuse("setReadOnly");
    }

    private static SQLException refuse(String call) {
        return new SQLException(
                call
                        + " is not for work given to the router: it commits when the work returns and rolls back when it throws",
                "25001");
    }
}
