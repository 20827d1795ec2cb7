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
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.internal.jdbc.Executions;
import org.shardflake.router.internal.jdbc.ForwardingConnection;
import org.shardflake.router.internal.jdbc.ReportingPreparedStatement;
import org.shardflake.router.internal.jdbc.ReportingStatement;
import org.shardflake.router.internal.session.NotCommittableException;
import org.shardflake.router.internal.session.SqlFailure;

/**
 * A connection for code that retries by itself: a fence's refusal is thrown as {@code SQLTransientException}. Only a batch throws what JDBC
 * prescribes for it, a {@link BatchUpdateException}.
 */
final class DirectConnection extends ForwardingConnection implements Executions {

    private final Ended listener;
    private final Runnable onEffect;
    private boolean autoCommit = true;
    private boolean readOnly;
    /** Whether a statement was executed in the transaction. */
    private boolean isUsed;

    private long start = System.nanoTime();

    /** A listener for ends of transactions, including single statements in auto-commit mode. */
    @FunctionalInterface
    interface Ended {
        void ended(boolean readOnly, boolean committed, Duration duration);
    }

    /** @param onEffect called before a statement that commits by itself, and after a commit; not if the connection is read-only */
    DirectConnection(ForwardingConnection connection, Ended listener, Runnable onEffect) {
        super(connection);
        this.listener = listener;
        this.onEffect = onEffect;
    }

    private void noteEffect() {
        if (!readOnly) {
            onEffect.run();
        }
    }

    /** Notes a failed commit, unless it certainly committed nothing. */
    private void noteFailure(SQLException e) {
        if (isUsed && !(e instanceof NotCommittableException) && !SqlFailure.isAnswer(e)) {
            noteEffect();
        }
    }

    private void ended(boolean committed) {
        long now = System.nanoTime();
        listener.ended(readOnly, committed, Duration.ofNanos(now - start));
        start = now;
        isUsed = false;
    }

    /** Executes a statement, which a fence may refuse, and which in auto-commit mode is a transaction. */
    @Override
    public <T> T execute(Execution<T> execution) throws SQLException {
        boolean committed = false;
        if (autoCommit) {
            start = System.nanoTime();
            noteEffect();
        } else {
            isUsed = true;
        }
        try {
            T result = execution.run();
            committed = true;
            return result;
        } catch (SQLException e) {
            throw repeatable(e);
        } finally {
            if (autoCommit) {
                ended(committed);
            }
        }
    }

    @Override
    public void setReadOnly(boolean readOnly) throws SQLException {
        super.setReadOnly(readOnly);
        this.readOnly = readOnly;
    }

    private static SQLException repeatable(SQLException failure) {
        return failure instanceof BatchUpdateException
                        || failure instanceof SQLTransientException
                        || !SqlFailure.isFence(failure)
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
            if (isUsed) {
                noteEffect();
            }
        } catch (SQLException e) {
            noteFailure(e);
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
            if (commits) {
                noteEffect();
            }
        } catch (SQLException e) {
            if (commits) {
                noteFailure(e);
            }
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

    /** Unwraps to one of the driver's own interfaces; statements run through it are not tracked. */
    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        if (autoCommit) {
            noteEffect();
        } else {
            isUsed = true;
        }
        return super.unwrap(type);
    }

    @Override
    protected Statement opened(Opening opening) throws SQLException {
        return new ReportingStatement<>(super.opened(opening), this);
    }

    @Override
    protected PreparedStatement prepared(String sql, Preparing<PreparedStatement> preparing) throws SQLException {
        return new ReportingPreparedStatement(super.prepared(sql, preparing), this);
    }

    @Override
    protected CallableStatement called(String sql, Preparing<CallableStatement> preparing) throws SQLException {
        return plain(super.called(sql, preparing));
    }

    /** Wraps a callable statement in a dynamic proxy; such statements are too rare for a class. */
    private CallableStatement plain(CallableStatement statement) {
        return proxy(CallableStatement.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "getConnection" -> this;
            default -> {
                Object result = method.getName().startsWith("execute")
                        ? execute(() -> Optional.ofNullable(invoke(statement, method, arguments)))
                                .orElse(null)
                        : invoke(statement, method, arguments);
                yield result instanceof ResultSet rows ? rows(rows, (Statement) proxy) : result;
            }
        });
    }

    @Override
    public DirectConnection connection() {
        return this;
    }

    /**
     * Wraps a result, since the server may still refuse to return or to change its rows. Others are all here, and reading them is not slowed
     * down.
     */
    @Override
    public ResultSet rows(ResultSet rows, Statement statement) throws SQLException {
        if (rows.getFetchSize() == 0 && rows.getConcurrency() != ResultSet.CONCUR_UPDATABLE) {
            return rows;
        }
        return proxy(ResultSet.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "getStatement" -> statement;
            default -> invoke(rows, method, arguments);
        });
    }

    private static <T> T proxy(Class<T> type, InvocationHandler calls) {
        return type.cast(Proxy.newProxyInstance(
                DirectConnection.class.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    default -> calls.invoke(proxy, method, arguments);
                }));
    }

    private static @Nullable Object invoke(Object target, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            if (e.getTargetException() instanceof SQLException failure) {
                throw repeatable(failure);
            }
            if (e.getTargetException() instanceof RuntimeException failure) {
                throw failure;
            }
            if (e.getTargetException() instanceof Error failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getTargetException());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
