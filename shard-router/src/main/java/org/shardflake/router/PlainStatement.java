/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/** A statement of a {@link PlainConnection}, which hears of everything that is executed. */
class PlainStatement<S extends Statement> extends ForwardingStatement<S> {

    final PlainConnection connection;

    PlainStatement(S statement, PlainConnection connection) {
        super(statement);
        this.connection = connection;
    }

    final ResultSet plain(ResultSet rows) throws SQLException {
        return PlainConnection.plain(rows, this);
    }

    @Override
    public PlainConnection getConnection() {
        return connection;
    }

    @Override
    public ResultSet getGeneratedKeys() throws SQLException {
        return plain(statement.getGeneratedKeys());
    }

    @Override
    public @Nullable ResultSet getResultSet() throws SQLException {
        ResultSet rows = statement.getResultSet();
        return rows == null ? null : plain(rows);
    }

    @Override
    public int[] executeBatch() throws SQLException {
        return connection.execute(() -> statement.executeBatch());
    }

    @Override
    public long[] executeLargeBatch() throws SQLException {
        return connection.execute(() -> statement.executeLargeBatch());
    }

    @Override
    public long executeLargeUpdate(String sql) throws SQLException {
        return connection.execute(() -> statement.executeLargeUpdate(sql));
    }

    @Override
    public long executeLargeUpdate(String sql, String[] columns) throws SQLException {
        return connection.execute(() -> statement.executeLargeUpdate(sql, columns));
    }

    @Override
    public long executeLargeUpdate(String sql, int number) throws SQLException {
        return connection.execute(() -> statement.executeLargeUpdate(sql, number));
    }

    @Override
    public long executeLargeUpdate(String sql, int[] columns) throws SQLException {
        return connection.execute(() -> statement.executeLargeUpdate(sql, columns));
    }

    @Override
    public ResultSet executeQuery(String sql) throws SQLException {
        return plain(connection.execute(() -> statement.executeQuery(sql)));
    }

    @Override
    public boolean execute(String sql) throws SQLException {
        return connection.execute(() -> statement.execute(sql));
    }

    @Override
    public boolean execute(String sql, String[] columns) throws SQLException {
        return connection.execute(() -> statement.execute(sql, columns));
    }

    @Override
    public boolean execute(String sql, int number) throws SQLException {
        return connection.execute(() -> statement.execute(sql, number));
    }

    @Override
    public boolean execute(String sql, int[] columns) throws SQLException {
        return connection.execute(() -> statement.execute(sql, columns));
    }

    @Override
    public int executeUpdate(String sql) throws SQLException {
        return connection.execute(() -> statement.executeUpdate(sql));
    }

    @Override
    public int executeUpdate(String sql, String[] columns) throws SQLException {
        return connection.execute(() -> statement.executeUpdate(sql, columns));
    }

    @Override
    public int executeUpdate(String sql, int number) throws SQLException {
        return connection.execute(() -> statement.executeUpdate(sql, number));
    }

    @Override
    public int executeUpdate(String sql, int[] columns) throws SQLException {
        return connection.execute(() -> statement.executeUpdate(sql, columns));
    }
}
