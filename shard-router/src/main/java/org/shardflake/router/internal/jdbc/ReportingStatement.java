/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * A statement that forwards every call to another one, and passes texts, executions and rows through {@link Executions}; written by hand like
 * {@link ForwardingConnection}.
 */
public class ReportingStatement<S extends Statement> implements Statement {

    final S statement;
    final Executions executions;

    public ReportingStatement(S statement, Executions executions) {
        this.statement = statement;
        this.executions = executions;
    }

    final ResultSet reported(ResultSet rows) throws SQLException {
        return executions.rows(rows, this);
    }

    @Override
    public void addBatch(String sql) throws SQLException {
        statement.addBatch(executions.text(sql));
    }

    @Override
    public void cancel() throws SQLException {
        statement.cancel();
    }

    @Override
    public void clearBatch() throws SQLException {
        statement.clearBatch();
    }

    @Override
    public void clearWarnings() throws SQLException {
        statement.clearWarnings();
    }

    @Override
    public void close() throws SQLException {
        statement.close();
    }

    @Override
    public void closeOnCompletion() throws SQLException {
        statement.closeOnCompletion();
    }

    @Override
    public String enquoteIdentifier(String text, boolean flag) throws SQLException {
        return statement.enquoteIdentifier(text, flag);
    }

    @Override
    public String enquoteLiteral(String text) throws SQLException {
        return statement.enquoteLiteral(text);
    }

    @Override
    public String enquoteNCharLiteral(String text) throws SQLException {
        return statement.enquoteNCharLiteral(text);
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
        return executions.execute(() -> statement.executeLargeUpdate(executions.text(sql)));
    }

    @Override
    public long executeLargeUpdate(String sql, String[] columns) throws SQLException {
        return executions.execute(() -> statement.executeLargeUpdate(executions.text(sql), columns));
    }

    @Override
    public long executeLargeUpdate(String sql, int number) throws SQLException {
        return executions.execute(() -> statement.executeLargeUpdate(executions.text(sql), number));
    }

    @Override
    public long executeLargeUpdate(String sql, int[] columns) throws SQLException {
        return executions.execute(() -> statement.executeLargeUpdate(executions.text(sql), columns));
    }

    @Override
    public ResultSet executeQuery(String sql) throws SQLException {
        return reported(executions.execute(() -> statement.executeQuery(executions.text(sql))));
    }

    @Override
    public boolean execute(String sql) throws SQLException {
        return executions.execute(() -> statement.execute(executions.text(sql)));
    }

    @Override
    public boolean execute(String sql, String[] columns) throws SQLException {
        return executions.execute(() -> statement.execute(executions.text(sql), columns));
    }

    @Override
    public boolean execute(String sql, int number) throws SQLException {
        return executions.execute(() -> statement.execute(executions.text(sql), number));
    }

    @Override
    public boolean execute(String sql, int[] columns) throws SQLException {
        return executions.execute(() -> statement.execute(executions.text(sql), columns));
    }

    @Override
    public int executeUpdate(String sql) throws SQLException {
        return executions.execute(() -> statement.executeUpdate(executions.text(sql)));
    }

    @Override
    public int executeUpdate(String sql, String[] columns) throws SQLException {
        return executions.execute(() -> statement.executeUpdate(executions.text(sql), columns));
    }

    @Override
    public int executeUpdate(String sql, int number) throws SQLException {
        return executions.execute(() -> statement.executeUpdate(executions.text(sql), number));
    }

    @Override
    public int executeUpdate(String sql, int[] columns) throws SQLException {
        return executions.execute(() -> statement.executeUpdate(executions.text(sql), columns));
    }

    @Override
    public int getFetchDirection() throws SQLException {
        return statement.getFetchDirection();
    }

    @Override
    public int getFetchSize() throws SQLException {
        return statement.getFetchSize();
    }

    @Override
    public ResultSet getGeneratedKeys() throws SQLException {
        return reported(statement.getGeneratedKeys());
    }

    @Override
    public long getLargeMaxRows() throws SQLException {
        return statement.getLargeMaxRows();
    }

    @Override
    public long getLargeUpdateCount() throws SQLException {
        return statement.getLargeUpdateCount();
    }

    @Override
    public int getMaxFieldSize() throws SQLException {
        return statement.getMaxFieldSize();
    }

    @Override
    public int getMaxRows() throws SQLException {
        return statement.getMaxRows();
    }

    @Override
    public boolean getMoreResults() throws SQLException {
        return statement.getMoreResults();
    }

    @Override
    public boolean getMoreResults(int number) throws SQLException {
        return statement.getMoreResults(number);
    }

    @Override
    public int getQueryTimeout() throws SQLException {
        return statement.getQueryTimeout();
    }

    @Override
    public @Nullable ResultSet getResultSet() throws SQLException {
        ResultSet rows = statement.getResultSet();
        return rows == null ? null : reported(rows);
    }

    @Override
    public int getResultSetConcurrency() throws SQLException {
        return statement.getResultSetConcurrency();
    }

    @Override
    public int getResultSetHoldability() throws SQLException {
        return statement.getResultSetHoldability();
    }

    @Override
    public int getResultSetType() throws SQLException {
        return statement.getResultSetType();
    }

    @Override
    public int getUpdateCount() throws SQLException {
        return statement.getUpdateCount();
    }

    @Override
    public SQLWarning getWarnings() throws SQLException {
        return statement.getWarnings();
    }

    @Override
    public boolean isCloseOnCompletion() throws SQLException {
        return statement.isCloseOnCompletion();
    }

    @Override
    public boolean isClosed() throws SQLException {
        return statement.isClosed();
    }

    @Override
    public boolean isPoolable() throws SQLException {
        return statement.isPoolable();
    }

    @Override
    public boolean isSimpleIdentifier(String text) throws SQLException {
        return statement.isSimpleIdentifier(text);
    }

    @Override
    public boolean isWrapperFor(Class<?> type) throws SQLException {
        return statement.isWrapperFor(type);
    }

    @Override
    public void setCursorName(String text) throws SQLException {
        statement.setCursorName(text);
    }

    @Override
    public void setEscapeProcessing(boolean flag) throws SQLException {
        statement.setEscapeProcessing(flag);
    }

    @Override
    public void setFetchDirection(int number) throws SQLException {
        statement.setFetchDirection(number);
    }

    @Override
    public void setFetchSize(int number) throws SQLException {
        statement.setFetchSize(number);
    }

    @Override
    public void setLargeMaxRows(long number) throws SQLException {
        statement.setLargeMaxRows(number);
    }

    @Override
    public void setMaxFieldSize(int number) throws SQLException {
        statement.setMaxFieldSize(number);
    }

    @Override
    public void setMaxRows(int number) throws SQLException {
        statement.setMaxRows(number);
    }

    @Override
    public void setPoolable(boolean flag) throws SQLException {
        statement.setPoolable(flag);
    }

    @Override
    public void setQueryTimeout(int number) throws SQLException {
        statement.setQueryTimeout(number);
    }

    @Override
    public String toString() {
        return statement.toString();
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        executions.unwrapped();
        return statement.unwrap(type);
    }

    @Override
    public Connection getConnection() {
        return executions.connection();
    }
}
