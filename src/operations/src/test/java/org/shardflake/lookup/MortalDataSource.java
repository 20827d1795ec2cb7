/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Objects;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Connections whose thread can die like a process: after a number of statements every further one closes its connection and fails, so
 * nothing is tidied up, until the thread is {@link #revive revived}.
 */
final class MortalDataSource implements DataSource {

    /** How many statements a thread has sent, and after how many it dies. */
    private static final class Life {
        private int statements;
        private int last = Integer.MAX_VALUE;
    }

    /** No exception, so that nobody repeats what the dead did. */
    static final class Death extends Error {
        private static final long serialVersionUID = 1L;
    }

    private static final ThreadLocal<Life> LIFE = ThreadLocal.withInitial(Life::new);

    private final DataSource source;

    MortalDataSource(DataSource source) {
        this.source = source;
    }

    /** Lets the calling thread die after so many more statements. */
    static void dieAfter(int statements) {
        LIFE.get().statements = 0;
        LIFE.get().last = statements;
    }

    static void revive() {
        LIFE.get().last = Integer.MAX_VALUE;
    }

    /** How many statements the calling thread has sent since it was asked before, or told to die. */
    static int statements() {
        int statements = LIFE.get().statements;
        LIFE.get().statements = 0;
        return statements;
    }

    private static void beforeStatement(Connection connection) throws SQLException {
        Life life = LIFE.get();
        if (++life.statements > life.last) {
            connection.abort(Runnable::run);
            throw new Death();
        }
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection connection = source.getConnection();
        return (Connection) Proxy.newProxyInstance(
                MortalDataSource.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("unwrap")) {
                        return connection; // Also if it is closed, of which the pool learns otherwise.
                    }
                    if (method.getName().equals("commit") || method.getName().equals("rollback")) {
                        if (LIFE.get().statements >= LIFE.get().last) {
                            beforeStatement(connection);
                        }
                    }
                    Object result = call(connection, method, arguments);
                    return method.getName().equals("prepareStatement")
                            ? mortal((PreparedStatement) Objects.requireNonNull(result), connection)
                            : result;
                });
    }

    private static PreparedStatement mortal(PreparedStatement statement, Connection connection) {
        return (PreparedStatement) Proxy.newProxyInstance(
                MortalDataSource.class.getClassLoader(),
                new Class<?>[] {PreparedStatement.class},
                (proxy, method, arguments) -> {
                    if (method.getName().startsWith("execute")) {
                        beforeStatement(connection);
                    }
                    return call(statement, method, arguments);
                });
    }

    private static @Nullable Object call(Object target, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        return source.getConnection(user, password);
    }

    @Override
    public PrintWriter getLogWriter() throws SQLException {
        return source.getLogWriter();
    }

    @Override
    public void setLogWriter(PrintWriter out) throws SQLException {
        source.setLogWriter(out);
    }

    @Override
    public void setLoginTimeout(int seconds) throws SQLException {
        source.setLoginTimeout(seconds);
    }

    @Override
    public int getLoginTimeout() throws SQLException {
        return source.getLoginTimeout();
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getLogger("org.postgresql");
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        return source.unwrap(type);
    }

    @Override
    public boolean isWrapperFor(Class<?> type) throws SQLException {
        return source.isWrapperFor(type);
    }
}
