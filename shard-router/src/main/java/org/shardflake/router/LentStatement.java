/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** A statement of a lent connection, which looks at the texts that it is given. */
final class LentStatement extends ForwardingStatement {

    private final LentConnection connection;

    LentStatement(Statement statement, LentConnection connection) {
        super(statement);
        this.connection = connection;
    }

    @Override
    public LentConnection getConnection() {
        return connection;
    }

    @Override
    public void addBatch(String sql) throws SQLException {
        super.addBatch(connection.watched(sql));
    }

    @Override
    public ResultSet executeQuery(String sql) throws SQLException {
        return super.executeQuery(connection.watched(sql));
    }

    @Override
    public boolean execute(String sql) throws SQLException {
        return super.execute(connection.watched(sql));
    }

    @Override
    public boolean execute(String sql, int keys) throws SQLException {
        return super.execute(connection.watched(sql), keys);
    }

    @Override
    public boolean execute(String sql, int[] columns) throws SQLException {
        return super.execute(connection.watched(sql), columns);
    }

    @Override
    public boolean execute(String sql, String[] columns) throws SQLException {
        return super.execute(connection.watched(sql), columns);
    }

    @Override
    public int executeUpdate(String sql) throws SQLException {
        return super.executeUpdate(connection.watched(sql));
    }

    @Override
    public int executeUpdate(String sql, int keys) throws SQLException {
        return super.executeUpdate(connection.watched(sql), keys);
    }

    @Override
    public int executeUpdate(String sql, int[] columns) throws SQLException {
        return super.executeUpdate(connection.watched(sql), columns);
    }

    @Override
    public int executeUpdate(String sql, String[] columns) throws SQLException {
        return super.executeUpdate(connection.watched(sql), columns);
    }

    @Override
    public long executeLargeUpdate(String sql) throws SQLException {
        return super.executeLargeUpdate(connection.watched(sql));
    }

    @Override
    public long executeLargeUpdate(String sql, int keys) throws SQLException {
        return super.executeLargeUpdate(connection.watched(sql), keys);
    }

    @Override
    public long executeLargeUpdate(String sql, int[] columns) throws SQLException {
        return super.executeLargeUpdate(connection.watched(sql), columns);
    }

    @Override
    public long executeLargeUpdate(String sql, String[] columns) throws SQLException {
        return super.executeLargeUpdate(connection.watched(sql), columns);
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        connection.leaveTraces();
        return super.unwrap(type);
    }
}
