/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.server.ServerUrl;

/**
 * One connection, kept open between uses: while shards move the catalog is asked often, and each new connection would
 * cost its server a process. For one user at a time.
 */
public final class ReusedConnection extends ForwardingDataSource {

    private @Nullable Connection kept;

    public ReusedConnection(PGSimpleDataSource source) {
        super(source);
    }

    /** The connection, opened if need be; closing it leaves it open for the next use. */
    @Override
    public Connection getConnection() throws SQLException {
        Connection connection = kept;
        if (connection == null || connection.isClosed()) {
            connection = super.getConnection();
            kept = connection;
        }
        return new Kept(connection);
    }

    public boolean isOpen() {
        return kept != null;
    }

    /** Whether the connection is open and leads to a standby. */
    public boolean isStandby() {
        Connection connection = kept;
        try {
            return connection != null && !connection.isClosed() && ServerUrl.isStandby(connection);
        } catch (SQLException e) {
            return false; // The next use will report the problem.
        }
    }

    /** Closes the connection; the next use opens another. */
    public void discard() {
        Connection connection = kept;
        kept = null;
        if (connection != null) {
            try {
                connection.close();
            } catch (SQLException e) {
                // The connection is given up in any case.
            }
        }
    }

    private static final class Kept extends ForwardingConnection {

        Kept(Connection connection) {
            super(connection);
        }

        @Override
        public void close() throws SQLException {
            setAutoCommit(true);
            setReadOnly(false);
        }
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        throw new SQLFeatureNotSupportedException("the user is that of the catalog's URL");
    }
}
