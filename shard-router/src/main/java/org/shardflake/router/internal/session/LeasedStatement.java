/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.shardflake.router.internal.jdbc.ForwardingStatement;

/** A statement of a lent connection, which inspects the SQL it is given. */
final class LeasedStatement extends ForwardingStatement<Statement> {

    private final LeasedConnection connection;

    LeasedStatement(Statement statement, LeasedConnection connection) {
        super(statement);
        this.connection = connection;
    }

    @Override
    public void addBatch(String sql) throws SQLException {
        super.addBatch(connection.watched(sql));
    }

    @Override
    public long executeLargeUpdate(String sql) throws SQLException {
        return super.executeLargeUpdate(connection.watched(sql));
    }

    @Override
    public long executeLargeUpdate(String sql, String[] columns) throws SQLException {
        return super.executeLargeUpdate(connection.watched(sql), columns);
    }

    @Override
    public long executeLargeUpdate(String sql, int number) throws SQLException {
        return super.executeLargeUpdate(connection.watched(sql), number);
    }

    @Override
    public long executeLargeUpdate(String sql, int[] columns) throws SQLException {
        return super.executeLargeUpdate(connection.watched(sql), columns);
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
    public boolean execute(String sql, String[] columns) throws SQLException {
        return super.execute(connection.watched(sql), columns);
    }

    @Override
    public boolean execute(String sql, int number) throws SQLException {
        return super.execute(connection.watched(sql), number);
    }

    @Override
    public boolean execute(String sql, int[] columns) throws SQLException {
        return super.execute(connection.watched(sql), columns);
    }

    @Override
    public int executeUpdate(String sql) throws SQLException {
        return super.executeUpdate(connection.watched(sql));
    }

    @Override
    public int executeUpdate(String sql, String[] columns) throws SQLException {
        return super.executeUpdate(connection.watched(sql), columns);
    }

    @Override
    public int executeUpdate(String sql, int number) throws SQLException {
        return super.executeUpdate(connection.watched(sql), number);
    }

    @Override
    public int executeUpdate(String sql, int[] columns) throws SQLException {
        return super.executeUpdate(connection.watched(sql), columns);
    }

    @Override
    public LeasedConnection getConnection() {
        return connection;
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        connection.leaveTraces();
        return super.unwrap(type);
    }
}
