/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * A connection for code that repeats its work itself: a refusal by a fence comes as JDBC's exception for what may succeed when it is
 * tried again. Only a batch throws what JDBC prescribes for it, a {@link BatchUpdateException}.
 */
final class PlainConnection extends ForwardingConnection {

    private final LentConnection lent;

    PlainConnection(LentConnection lent) {
        super(lent);
        this.lent = lent;
    }

    private static SQLException repeatable(SQLException failure) {
        return failure instanceof BatchUpdateException || SqlFailure.of(failure) != SqlFailure.FENCED
                ? failure
                : new SQLTransientException(
                        failure.getMessage(), failure.getSQLState(), failure.getErrorCode(), failure);
    }

    @Override
    public void commit() throws SQLException {
        try {
            lent.commit();
        } catch (SQLException e) {
            throw repeatable(e);
        }
    }

    @Override
    public Statement createStatement() throws SQLException {
        return plain(Statement.class, super.createStatement());
    }

    @Override
    public Statement createStatement(int type, int concurrency) throws SQLException {
        return plain(Statement.class, super.createStatement(type, concurrency));
    }

    @Override
    public Statement createStatement(int type, int concurrency, int holdability) throws SQLException {
        return plain(Statement.class, super.createStatement(type, concurrency, holdability));
    }

    @Override
    public CallableStatement prepareCall(String sql) throws SQLException {
        return plain(CallableStatement.class, super.prepareCall(sql));
    }

    @Override
    public CallableStatement prepareCall(String sql, int type, int concurrency) throws SQLException {
        return plain(CallableStatement.class, super.prepareCall(sql, type, concurrency));
    }

    @Override
    public CallableStatement prepareCall(String sql, int type, int concurrency, int holdability) throws SQLException {
        return plain(CallableStatement.class, super.prepareCall(sql, type, concurrency, holdability));
    }

    @Override
    public PreparedStatement prepareStatement(String sql) throws SQLException {
        return plain(PreparedStatement.class, super.prepareStatement(sql));
    }

    @Override
    public PreparedStatement prepareStatement(String sql, int keys) throws SQLException {
        return plain(PreparedStatement.class, super.prepareStatement(sql, keys));
    }

    @Override
    public PreparedStatement prepareStatement(String sql, int[] columns) throws SQLException {
        return plain(PreparedStatement.class, super.prepareStatement(sql, columns));
    }

    @Override
    public PreparedStatement prepareStatement(String sql, String[] columns) throws SQLException {
        return plain(PreparedStatement.class, super.prepareStatement(sql, columns));
    }

    @Override
    public PreparedStatement prepareStatement(String sql, int type, int concurrency) throws SQLException {
        return plain(PreparedStatement.class, super.prepareStatement(sql, type, concurrency));
    }

    @Override
    public PreparedStatement prepareStatement(String sql, int type, int concurrency, int holdability)
            throws SQLException {
        return plain(PreparedStatement.class, super.prepareStatement(sql, type, concurrency, holdability));
    }

    private <S extends Statement> S plain(Class<S> type, S statement) {
        return type.cast(Proxy.newProxyInstance(
                PlainConnection.class.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> call(proxy, statement, method, arguments)));
    }

    private @Nullable Object call(
            Object proxy, Statement statement, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        try {
            return switch (method.getName()) {
                case "getConnection" -> this;
                case "equals" -> arguments != null && proxy == arguments[0];
                case "hashCode" -> System.identityHashCode(proxy);
                default -> method.invoke(statement, arguments);
            };
        } catch (InvocationTargetException e) {
            throw e.getTargetException() instanceof SQLException failure ? repeatable(failure) : e.getTargetException();
        }
    }
}
