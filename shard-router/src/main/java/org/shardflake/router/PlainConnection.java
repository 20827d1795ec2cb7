/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.sql.Statement;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A connection for code that repeats its work itself: a refusal by a fence comes as JDBC's exception for what may succeed when it is
 * tried again. Only a batch throws what JDBC prescribes for it, a {@link BatchUpdateException}.
 */
final class PlainConnection extends ForwardingConnection {

    private final Ended listener;
    private boolean autoCommit = true;
    private boolean readOnly;
    /** Whether a statement was executed in the transaction. */
    private boolean isUsed;

    private long start = System.nanoTime();

    /** Is told of each transaction that has ended, also of those that are one statement in auto-commit mode. */
    @FunctionalInterface
    interface Ended {
        void ended(boolean readOnly, boolean committed, Duration duration);
    }

    PlainConnection(ForwardingConnection connection, Ended listener) {
        super(connection);
        this.listener = listener;
    }

    private void ended(boolean committed) {
        long now = System.nanoTime();
        listener.ended(readOnly, committed, Duration.ofNanos(now - start));
        start = now;
        isUsed = false;
    }

    /** What executes a statement. */
    @FunctionalInterface
    private interface Execution {
        @Nullable
        Object run() throws Throwable;
    }

    private @Nullable Object execute(Execution execution) throws Throwable {
        if (!autoCommit) {
            isUsed = true;
            return execution.run();
        }
        start = System.nanoTime();
        boolean committed = false;
        try {
            Object result = execution.run();
            committed = true;
            return result;
        } finally {
            ended(committed);
        }
    }

    @Override
    public void setReadOnly(boolean readOnly) throws SQLException {
        super.setReadOnly(readOnly);
        this.readOnly = readOnly;
    }

    private static SQLException repeatable(SQLException failure) {
        return failure instanceof BatchUpdateException || SqlFailure.of(failure) != SqlFailure.FENCED
                ? failure
                : new SQLTransientException(
                        failure.getMessage(), failure.getSQLState(), failure.getErrorCode(), failure);
    }

    @Override
    public void commit() throws SQLException {
        boolean committed = false;
        try {
            super.commit();
            committed = true;
        } catch (SQLException e) {
            throw repeatable(e);
        } finally {
            if (!autoCommit) {
                ended(committed);
            }
        }
    }

    @Override
    public void rollback() throws SQLException {
        try {
            super.rollback();
        } finally {
            if (!autoCommit) {
                ended(false);
            }
        }
    }

    @Override
    public void close() throws SQLException {
        boolean isOpen = isUsed;
        try {
            super.close();
        } finally {
            if (isOpen) {
                ended(false); // The pool rolls it back.
            }
        }
    }

    @Override
    public void setAutoCommit(boolean autoCommit) throws SQLException {
        boolean commits = isUsed && autoCommit;
        boolean committed = false;
        try {
            super.setAutoCommit(autoCommit);
            committed = true;
        } catch (SQLException e) {
            throw repeatable(e);
        } finally {
            if (commits) {
                ended(committed);
            }
        }
        if (this.autoCommit != autoCommit) {
            this.autoCommit = autoCommit;
            start = System.nanoTime();
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
        return proxy(type, (proxy, method, arguments) -> switch (method.getName()) {
            case "getConnection" -> this;
            default -> {
                Object result = method.getName().startsWith("execute")
                        ? execute(() -> method.invoke(statement, arguments))
                        : method.invoke(statement, arguments);
                yield result instanceof ResultSet rows && asksAgain(rows) ? plain(rows, (Statement) proxy) : result;
            }
        });
    }

    private static ResultSet plain(ResultSet rows, Statement statement) {
        return proxy(ResultSet.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "getStatement" -> statement;
            default -> method.invoke(rows, arguments);
        });
    }

    /** Whether the server is asked for more rows, or to change them. Others are all here, and reading them is not slowed down. */
    private static boolean asksAgain(ResultSet rows) throws SQLException {
        return rows.getFetchSize() > 0 || rows.getConcurrency() == ResultSet.CONCUR_UPDATABLE;
    }

    private static <T> T proxy(Class<T> type, InvocationHandler calls) {
        return type.cast(Proxy.newProxyInstance(
                PlainConnection.class.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> call(proxy, method, arguments, calls)));
    }

    private static @Nullable Object call(
            Object proxy, Method method, @Nullable Object @Nullable [] arguments, InvocationHandler calls)
            throws Throwable {
        try {
            return switch (method.getName()) {
                case "equals" -> arguments != null && proxy == arguments[0];
                case "hashCode" -> System.identityHashCode(proxy);
                default -> calls.invoke(proxy, method, arguments);
            };
        } catch (InvocationTargetException e) {
            throw e.getTargetException() instanceof SQLException failure ? repeatable(failure) : e.getTargetException();
        }
    }
}
