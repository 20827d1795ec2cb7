/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * A JDBC connection without a server, which records the statements that it is given. It writes down what is executed over it, as SQL with the
 * values in it: every shard, and later every target of a move, is given the same text, also where Liquibase would send values apart from it.
 */
final class RecordedStatements {

    private final List<String> sql = new ArrayList<>();

    /** The executed statements, in order. */
    List<String> sql() {
        return List.copyOf(sql);
    }

    Connection connection() {
        return proxy(Connection.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "prepareStatement" -> statement(proxy, (String) arguments[0]);
            case "isClosed" -> false;
            case "getAutoCommit" -> true;
            default -> nothing(method.getReturnType());
        });
    }

    private PreparedStatement statement(Object connection, String text) {
        Map<Integer, String> values = new TreeMap<>();
        return proxy(PreparedStatement.class, (proxy, method, arguments) -> {
            String name = method.getName();
            if (name.equals("setBlob")) {
                throw new SQLException(
                        "a value is stored as a large object, in a column of type oid, and large objects are not part of a shard: declare the column as bytea (longblob, to Liquibase)");
            }
            if (name.equals("setNull")) {
                values.put((Integer) arguments[0], "NULL");
            } else if (name.startsWith("set") && arguments.length > 1 && arguments[0] instanceof Integer position) {
                values.put(position, literal(arguments[1]));
            } else if (name.equals("execute") || name.equals("executeUpdate")) {
                sql.add(withValues(text, values));
            } else if (name.equals("clearParameters")) {
                values.clear();
            }
            return switch (name) {
                case "isClosed" -> true; // Liquibase keeps its last statement, and asks.
                case "getConnection" -> connection;
                case "executeUpdate" -> 1;
                default -> nothing(method.getReturnType());
            };
        });
    }

    /** SQL with the values in place of the question marks. */
    static String withValues(String text, Map<Integer, String> values) throws SQLException {
        StringBuilder sql = new StringBuilder();
        int from = 0;
        int position = 0;
        for (Token token : SqlTokens.of(text)) {
            @Nullable String value;
            if (token.kind() == Kind.SYMBOL) {
                value = token.text().replace("??", "?");
            } else if (token.text().equals("?") && token.kind() == Kind.PARAMETER) {
                value = values.get(++position);
            } else {
                continue;
            }
            if (value == null) {
                throw new SQLException("no value for parameter %s of %s".formatted(position, text));
            }
            sql.append(text, from, token.start()).append(value);
            from = token.end();
        }
        return sql.append(text, from, text.length()).toString();
    }

    /** A value as PostgreSQL reads it, whatever its settings. */
    static String literal(@Nullable Object value) {
        try {
            if (value == null) {
                return "NULL";
            }
            if (value instanceof Number || value instanceof Boolean) {
                return value.toString();
            }
            if (value instanceof byte[] bytes) {
                return bytes(bytes);
            }
            if (value instanceof InputStream stream) {
                return bytes(stream.readAllBytes());
            }
            if (value instanceof Reader reader) {
                StringWriter text = new StringWriter();
                reader.transferTo(text);
                return Sql.quote(text.toString());
            }
            if (value instanceof Timestamp time) {
                return Sql.quote(OffsetDateTime.ofInstant(time.toInstant(), ZoneId.systemDefault())
                        .format(DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSSxxx")));
            }
            return Sql.quote(value.toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String bytes(byte[] bytes) {
        // Not E'\\x', whose backslash would have to be doubled, nor '\x', which depends on standard_conforming_strings.
        return "pg_catalog.decode('%s', 'hex')".formatted(HexFormat.of().formatHex(bytes));
    }

    private static @Nullable Object nothing(Class<?> type) {
        if (type == boolean.class) {
            return false;
        }
        return type == int.class ? 0 : type == long.class ? (Object) 0L : null;
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, given) -> {
                    Object[] arguments = given == null ? new Object[0] : given;
                    return switch (method.getName()) {
                        case "equals" -> proxy == arguments[0];
                        case "hashCode" -> System.identityHashCode(proxy);
                        case "toString" -> type.getSimpleName();
                        default -> handler.invoke(proxy, method, arguments);
                    };
                }));
    }
}
