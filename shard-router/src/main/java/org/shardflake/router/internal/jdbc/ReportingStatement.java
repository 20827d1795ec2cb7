/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/** A statement that passes every execution through {@link Executions}. */
public class ReportingStatement<S extends Statement> extends ForwardingStatement<S> {

    final Executions executions;

    public ReportingStatement(S statement, Executions executions) {
        super(statement);
        this.executions = executions;
    }

    final ResultSet reported(ResultSet rows) throws SQLException {
        return executions.rows(rows, this);
    }

    @Override
    public Connection getConnection() {
        return executions.connection();
    }

    @Override
    public ResultSet getGeneratedKeys() throws SQLException {
        return reported(statement.getGeneratedKeys());
    }

    @Override
    public @Nullable ResultSet getResultSet() throws SQLException {
        ResultSet rows = statement.getResultSet();
        return rows == null ? null : reported(rows);
    }

    @Override
    public int[] executeBatch() throws SQLException {
        return executions.executeBatch(() -> statement.executeBatch());
    }

    @Override
    public long[] executeLargeBatch() throws SQLException {
        return executions.executeBatch(() -> statement.executeLargeBatch());
    }

    @Override
    public long executeLargeUpdate(String sql) throws SQLException {
        return executions.execute(() -> statement.executeLargeUpdate(sql));
    }

    @Override
    public long executeLargeUpdate(String sql, String[] columns) throws SQLException {
        return executions.execute(() -> statement.executeLargeUpdate(sql, columns));
    }

    @Override
    public long executeLargeUpdate(String sql, int number) throws SQLException {
        return executions.execute(() -> statement.executeLargeUpdate(sql, number));
    }

    @Override
    public long executeLargeUpdate(String sql, int[] columns) throws SQLException {
        return executions.execute(() -> statement.executeLargeUpdate(sql, columns));
    }

    @Override
    public ResultSet executeQuery(String sql) throws SQLException {
        return reported(executions.execute(() -> statement.executeQuery(sql)));
    }

    @Override
    public boolean execute(String sql) throws SQLException {
        return executions.execute(() -> statement.execute(sql));
    }

    @Override
    public boolean execute(String sql, String[] columns) throws SQLException {
        return executions.execute(() -> statement.execute(sql, columns));
    }

    @Override
    public boolean execute(String sql, int number) throws SQLException {
        return executions.execute(() -> statement.execute(sql, number));
    }

    @Override
    public boolean execute(String sql, int[] columns) throws SQLException {
        return executions.execute(() -> statement.execute(sql, columns));
    }

    @Override
    public int executeUpdate(String sql) throws SQLException {
        return executions.execute(() -> statement.executeUpdate(sql));
    }

    @Override
    public int executeUpdate(String sql, String[] columns) throws SQLException {
        return executions.execute(() -> statement.executeUpdate(sql, columns));
    }

    @Override
    public int executeUpdate(String sql, int number) throws SQLException {
        return executions.execute(() -> statement.executeUpdate(sql, number));
    }

    @Override
    public int executeUpdate(String sql, int[] columns) throws SQLException {
        return executions.execute(() -> statement.executeUpdate(sql, columns));
    }
}
