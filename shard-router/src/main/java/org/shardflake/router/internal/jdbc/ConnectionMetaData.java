/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Metadata of a connection as its user sees it: {@code getConnection} returns the user's own connection, since the driver's could end
 * transactions. With a schema, this is the one in which things are looked for that are named without a schema.
 */
public final class ConnectionMetaData implements InvocationHandler {

    /** The positions of the schema among a method's arguments; 1 for all methods not listed. */
    private static final Map<String, int[]> SCHEMA_ARGUMENTS = Map.of("getCrossReference", new int[] {1, 4});

    private static final int[] SECOND = {1};
    /** The position of the schema's column in results, which JDBC always puts between the catalog and the name. */
    private static final int SCHEMA_COLUMN = 2;

    private static final Pattern SHARD = Pattern.compile("shard_\\d{4}");

    private final DatabaseMetaData metaData;
    private final Connection connection;
    private final @Nullable String schema;

    private ConnectionMetaData(DatabaseMetaData metaData, Connection connection, @Nullable String schema) {
        this.metaData = metaData;
        this.connection = connection;
        this.schema = schema;
    }

    /**
     * Wraps metadata so that it leads back to the user's connection.
     *
     * @param schema where things without a schema are looked for; null if everywhere, or where the given metadata does
     */
    public static DatabaseMetaData of(DatabaseMetaData metaData, Connection connection, @Nullable String schema) {
        ConnectionMetaData seen = Proxy.isProxyClass(metaData.getClass())
                        && Proxy.getInvocationHandler(metaData) instanceof ConnectionMetaData inner
                ? new ConnectionMetaData(inner.metaData, connection, schema == null ? inner.schema : schema)
                : new ConnectionMetaData(metaData, connection, schema);
        return proxy(DatabaseMetaData.class, seen);
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(
                Proxy.newProxyInstance(ConnectionMetaData.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        return switch (method.getName()) {
            case "getConnection" -> connection;
            case "equals" -> arguments != null && proxy == arguments[0];
            case "hashCode" -> System.identityHashCode(proxy);
            default ->
                method.getReturnType() == ResultSet.class ? rows(method, arguments) : call(metaData, method, arguments);
        };
    }

    /**
     * The objects in the shard's schema; if it has none of that name, those elsewhere except in other shards, such as in schema {@code
     * reference}.
     */
    private ResultSet rows(Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
        @Nullable Object[] inSchema = inSchema(method, arguments);
        if (inSchema == null) {
            return seen(found(method, arguments), false);
        }
        ResultSet found = found(method, inSchema);
        if (found.isBeforeFirst()) {
            return seen(found, false);
        }
        found.close();
        return seen(found(method, arguments), true);
    }

    private ResultSet found(Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
        return Objects.requireNonNull((ResultSet) call(metaData, method, arguments));
    }

    /** The arguments with the schema filled in where none is given; null if there is nothing to fill in. */
    private @Nullable Object @Nullable [] inSchema(Method method, @Nullable Object @Nullable [] arguments) {
        Class<?>[] types = method.getParameterTypes();
        if (schema == null || arguments == null || types.length < 3 || types[0] != String.class) {
            return null;
        }
        @Nullable Object[] changed = arguments.clone();
        boolean isChanged = false;
        for (int i : SCHEMA_ARGUMENTS.getOrDefault(method.getName(), SECOND)) {
            if (arguments[i] == null || arguments[i].equals("")) {
                changed[i] = schema;
                isChanged = true;
            }
        }
        return isChanged ? changed : null;
    }

    /** Wraps rows to hide their statement, which would lead to the driver's connection. */
    private static ResultSet seen(ResultSet rows, boolean isOutsideShards) {
        return proxy(ResultSet.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "getStatement" -> null;
            case "next" -> isOutsideShards ? nextOutsideShards(rows) : rows.next();
            case "equals" -> proxy == arguments[0];
            case "hashCode" -> System.identityHashCode(proxy);
            default -> call(rows, method, arguments);
        });
    }

    private static boolean nextOutsideShards(ResultSet rows) throws SQLException {
        while (rows.next()) {
            String its = rows.getString(SCHEMA_COLUMN);
            if (its == null || !SHARD.matcher(its).matches()) {
                return true;
            }
        }
        return false;
    }

    private static @Nullable Object call(Object target, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }
}
