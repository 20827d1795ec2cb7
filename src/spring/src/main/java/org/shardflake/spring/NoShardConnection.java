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
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.router.ShardAttempt;
import org.shardflake.router.ShardRouter;

/**
 * A connection for a thread without a shard, for frameworks that query the database's metadata at start-up. It goes to the server of the first
 * shard, and refuses statements and transactions.
 */
final class NoShardConnection implements InvocationHandler {

    private static final Set<String> REFUSED = Set.of(
            "createStatement", "prepareStatement", "prepareCall", "setSavepoint", "commit", "rollback", "setSchema");

    private final ShardRouter router;
    private @Nullable Connection connection;
    private boolean closed;

    private NoShardConnection(ShardRouter router) {
        this.router = router;
    }

    static Connection to(ShardRouter router) {
        return (Connection) Proxy.newProxyInstance(
                Connection.class.getClassLoader(), new Class<?>[] {Connection.class}, new NoShardConnection(router));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        String name = method.getName();
        if (REFUSED.contains(name) || (name.equals("setAutoCommit") && !Boolean.TRUE.equals(first(arguments)))) {
            throw new NoShardException();
        }
        return switch (name) {
            case "close" -> {
                close();
                yield null;
            }
            case "isClosed" -> closed;
            case "getAutoCommit" -> true;
            case "setAutoCommit", "setReadOnly" -> null;
            case "isReadOnly" -> false;
            case "toString" -> "a connection to no shard";
            case "getMetaData" -> metaData((Connection) proxy, (DatabaseMetaData) forward(method, arguments));
            case "equals" -> proxy == first(arguments);
            case "hashCode" -> System.identityHashCode(proxy);
            default -> forward(method, arguments);
        };
    }

    private static @Nullable Object first(@Nullable Object @Nullable [] arguments) {
        return arguments == null ? null : arguments[0];
    }

    /** The metadata of the first shard, which does not lead to its connection. */
    private static Object metaData(Connection proxy, @Nullable DatabaseMetaData metaData) {
        return Proxy.newProxyInstance(
                Connection.class.getClassLoader(),
                new Class<?>[] {DatabaseMetaData.class},
                (self, method, arguments) -> switch (method.getName()) {
                    case "getConnection" -> proxy;
                    case "equals" -> self == arguments[0];
                    case "hashCode" -> System.identityHashCode(self);
                    default -> call(metaData, method, arguments);
                });
    }

    private @Nullable Object forward(Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
        Connection open = connection;
        if (open == null) {
            open = open();
            connection = open;
        }
        return call(open, method, arguments);
    }

    private static @Nullable Object call(
            @Nullable Object target, Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }

    private Connection open() throws SQLException {
        if (closed) {
            throw new SQLException("the connection is closed", "08003");
        }
        try {
            return router.attempt(ShardKey.shard(0), false, ShardAttempt::connection);
        } catch (RuntimeException e) {
            throw new SQLException(e.getMessage(), "08001", e);
        }
    }

    private void close() throws SQLException {
        closed = true;
        if (connection != null) {
            connection.close();
        }
    }
}
