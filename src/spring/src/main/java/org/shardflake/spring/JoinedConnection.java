/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.ShardAttempt;

/**
 * The connection of a transaction that the router has begun, for Hibernate to begin and end transactions on: a commit is left to the router,
 * and a rollback keeps the router from committing.
 */
final class JoinedConnection implements InvocationHandler {

    private final Connection connection;
    private final ShardAttempt attempt;

    private JoinedConnection(Connection connection, ShardAttempt attempt) {
        this.connection = connection;
        this.attempt = attempt;
    }

    static Connection of(ShardAttempt attempt) throws SQLException {
        return (Connection) Proxy.newProxyInstance(
                Connection.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                new JoinedConnection(attempt.connection(), attempt));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        return switch (method.getName()) {
            case "commit", "setAutoCommit", "setReadOnly" -> null;
            case "rollback" -> {
                if (arguments != null) {
                    yield forward(method, arguments); // to a savepoint
                }
                attempt.rollbackOnly();
                yield null;
            }
            case "equals" -> arguments != null && proxy == arguments[0];
            case "hashCode" -> System.identityHashCode(proxy);
            default -> forward(method, arguments);
        };
    }

    private @Nullable Object forward(Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(connection, arguments);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }
}
