/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A prepared statement that sets and resets the search_path around its own execution, in one round trip and unseen by the driver: from
 * PostgreSQL 18 on, the driver drops its prepared statements at each change.
 *
 * <p>The driver gives the results of all three statements; callers see those of their own. What does not work so, such as
 * a batch, has the path set for the rest of the transaction instead.
 */
final class SearchPathStatement implements InvocationHandler {

    /** Calls that would make the driver describe, repeat or suspend the three statements together. */
    private static final Set<String> FOR_ONE_STATEMENT = Set.of(
            "addBatch",
            "executeBatch",
            "executeLargeBatch",
            "clearBatch",
            "getGeneratedKeys",
            "getMetaData",
            "getParameterMetaData",
            "setFetchSize");

    private final SearchPathConnection connection;
    private final String sql;
    private PreparedStatement statement;
    private boolean isAlone;
    private boolean hasEnded;
    /** The latest call of each setter, or of each setter and parameter if it sets parameters. */
    private final Map<Object, Call> settings = new LinkedHashMap<>();

    private record Call(Method method, List<@Nullable Object> arguments) {}

    private SearchPathStatement(SearchPathConnection connection, String sql, PreparedStatement ofThree) {
        this.connection = connection;
        this.sql = sql;
        this.statement = ofThree;
    }

    static PreparedStatement of(SearchPathConnection connection, String sql, PreparedStatement ofThree) {
        return (PreparedStatement) Proxy.newProxyInstance(
                SearchPathStatement.class.getClassLoader(),
                new Class<?>[] {PreparedStatement.class},
                new SearchPathStatement(connection, sql, ofThree));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        String name = method.getName();
        boolean isTooLate = name.startsWith("execute") && connection.isPathSet();
        if (!isAlone && (isTooLate || FOR_ONE_STATEMENT.contains(name))) {
            goAlone();
        }
        if (isAlone) {
            return call(method, arguments);
        }
        return switch (name) {
            case "execute" -> {
                require(arguments == null);
                yield execute();
            }
            case "executeQuery" -> {
                require(arguments == null);
                yield executeQuery();
            }
            case "executeUpdate" -> {
                require(arguments == null);
                execute();
                yield Math.max(0, statement.getUpdateCount());
            }
            case "executeLargeUpdate" -> {
                require(arguments == null);
                execute();
                yield Math.max(0, statement.getLargeUpdateCount());
            }
            case "getMoreResults" -> {
                statement.getMoreResults();
                hasEnded = true;
                yield false;
            }
            case "getResultSet" -> hasEnded ? null : statement.getResultSet();
            case "getUpdateCount" -> hasEnded ? -1 : statement.getUpdateCount();
            case "getLargeUpdateCount" -> hasEnded ? -1L : statement.getLargeUpdateCount();
            case "equals" -> arguments != null && proxy == arguments[0];
            case "hashCode" -> System.identityHashCode(proxy);
            case "clearParameters" -> {
                settings.keySet().removeIf(Integer.class::isInstance);
                yield call(method, arguments);
            }
            default -> {
                if (arguments != null && name.startsWith("set")) {
                    Object key = arguments.length > 1 && arguments[0] instanceof Integer index ? index : name;
                    settings.put(key, new Call(method, Arrays.asList(arguments)));
                }
                yield call(method, arguments);
            }
        };
    }

    private static void require(boolean isPrepared) throws SQLException {
        if (!isPrepared) {
            throw new SQLException("a prepared statement takes no other text", "42601");
        }
    }

    /** Executes the three statements, and moves to the result of the second. */
    private boolean execute() throws SQLException {
        hasEnded = false;
        try {
            statement.execute();
        } catch (SQLException e) {
            if (!connection.getAutoCommit() || !SqlFailure.isOutdated(e)) {
                throw e;
            }
            statement.execute(); // The driver does so for single statements. The three were one transaction, so nothing
            // was done.
        }
        return statement.getMoreResults();
    }

    private ResultSet executeQuery() throws SQLException {
        if (!execute()) {
            throw new SQLException("No results were returned by the query.", "02000");
        }
        return statement.getResultSet();
    }

    /** Sends the statement alone, with the path set for the transaction. */
    private void goAlone() throws Throwable {
        statement.close();
        statement = connection.prepareAlone(sql);
        isAlone = true;
        for (Call setting : settings.values()) {
            call(setting.method, setting.arguments.toArray());
        }
        settings.clear();
    }

    private @Nullable Object call(Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(statement, arguments);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }
}
