/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import org.jspecify.annotations.Nullable;

/**
 * A connection that cannot end the transaction it is in.
 *
 * <p>Work that committed halfway could not be run again from the start. Frameworks close their connection and restore its
 * auto-commit mode as a matter of course, so those calls are taken and ignored.
 */
final class TransactionConnection implements InvocationHandler {

    private final Connection connection;

    private TransactionConnection(Connection connection) {
        this.connection = connection;
    }

    static Connection guard(Connection connection) {
        return (Connection) Proxy.newProxyInstance(
                TransactionConnection.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                new TransactionConnection(connection));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        switch (method.getName()) {
            case "close" -> {
                return null;
            }
            case "setAutoCommit" -> {
                if (arguments != null && Boolean.TRUE.equals(arguments[0])) {
                    throw refuse("setAutoCommit(true)");
                }
                return null;
            }
            case "commit", "abort", "setReadOnly" -> throw refuse(method.getName());
            case "rollback" -> {
                if (arguments == null || !(arguments[0] instanceof Savepoint)) {
                    throw refuse("rollback");
                }
            }
            case "equals" -> {
                return arguments != null && proxy == arguments[0];
            }
            case "hashCode" -> {
                return System.identityHashCode(proxy);
            }
            default -> {}
        }
        try {
            return method.invoke(connection, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }

    private static SQLException refuse(String call) {
        return new SQLException(
                call
                        + " is not for work given to the router: it commits when the work returns and rolls back when it throws",
                "25001");
    }
}
