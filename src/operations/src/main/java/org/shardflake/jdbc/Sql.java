/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyOperation;
import org.postgresql.copy.CopyOut;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.server.NoAnswerException;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.SessionFailedException;
import org.shardflake.server.SqlText;

/** Shorthand for common uses of statements. */
public final class Sql {

    /**
     * SQL for whether no row has a null in column {@code a} of pg_attribute. Since PostgreSQL 18, a constraint that is {@code NOT VALID} says that only of
     * rows that were written after it.
     */
    public static final String HAS_NO_NULL =
            "a.attnotnull AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND NOT k.convalidated AND a.attnum = ANY (k.conkey))";

    /** The SQLSTATEs of a server that is shutting down, starting up, disconnected from us, or out of connections. */
    private static final Set<String> OUTAGES =
            Set.of("57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "55006", "25006", "53300");

    private static final String CANCELLED = "57014";

    /** The SQLSTATEs of a lock that could not be obtained, a cancelled statement, and a deadlock. */
    private static final Set<String> NOT_IN_TIME = Set.of("55P03", CANCELLED, "40P01");

    private Sql() {}

    @FunctionalInterface
    public interface RowReader<T> {
        T read(ResultSet row) throws SQLException;
    }

    @FunctionalInterface
    public interface Work<T> {
        T run() throws SQLException;
    }

    /** Work with a connection. */
    @FunctionalInterface
    public interface Query<T> {
        T run(Connection connection) throws SQLException;
    }

    /** The body of a public method of an engine, which returns a result. */
    @FunctionalInterface
    public interface Task<T, X extends Exception> {
        T run() throws SQLException, X;
    }

    /** The body of a public method that returns nothing. */
    @FunctionalInterface
    public interface Action<X extends Exception> {
        void run() throws SQLException, X;
    }

    /**
     * Runs the body of a public method, and translates its SQL failures.
     *
     * @throws ServerRefusalException for an {@link SQLException}
     */
    public static <T, X extends Exception> T translating(Task<T, X> task) throws X {
        try {
            return task.run();
        } catch (SQLException e) {
            throw new ServerRefusalException(e);
        }
    }

    /** Runs the body of a public method that returns nothing, and translates its SQL failures. */
    public static <X extends Exception> void translating(Action<X> action) throws X {
        translating(() -> {
            action.run();
            return true;
        });
    }

    /**
     * The end of a piece of work, for try-with-resources: if both fail, the work's failure is thrown, with the end's suppressed. What a {@code
     * finally} throws would hide it.
     */
    @FunctionalInterface
    public interface Ending extends AutoCloseable {
        @Override
        void close() throws SQLException;
    }

    /**
     * Cancels a COPY that failed in the middle; does nothing if it has ended. The driver lets nothing else use the connection of an open one.
     */
    public static void cancel(CopyIn copy) throws SQLException {
        cancelHere(copy);
    }

    /**
     * Cancels a COPY; does nothing if it was read to its end. What the server has sent is read first: the driver's own cancel leaves it to the
     * next statement, which takes it for its answer.
     */
    public static void cancel(Connection connection, CopyOut copy) throws SQLException {
        if (!copy.isActive()) {
            return;
        }
        // Still active if the connection is lost: its next user has to get an error, not wait.
        try (Ending ofLost = () -> cancelHere(copy)) {
            connection.unwrap(PGConnection.class).cancelQuery();
            while (copy.readFromCopy() != null) {}
        } catch (SQLException e) {
            if (!CANCELLED.equals(e.getSQLState())) {
                throw e;
            }
        }
    }

    private static void cancelHere(CopyOperation copy) throws SQLException {
        if (copy.isActive()) {
            copy.cancelCopy();
        }
    }

    /** Begins a transaction on a connection in auto-commit mode, which closing the result rolls back. */
    public static Ending rollingBack(Connection connection) throws SQLException {
        try {
            connection.setAutoCommit(false);
        } catch (SQLException e) {
            throw named(connection, e);
        }
        return () -> {
            try {
                connection.rollback();
                connection.setAutoCommit(true);
            } catch (SQLException e) {
                throw named(connection, e);
            }
        };
    }

    /** Runs work in a transaction of a connection in auto-commit mode, and restores that mode. */
    public static <T> T inTransaction(Connection connection, Work<T> work) throws SQLException {
        try {
            connection.setAutoCommit(false);
            T result = work.run();
            connection.commit();
            connection.setAutoCommit(true);
            return result;
        } catch (SQLException e) {
            SQLException named = named(connection, e);
            rollBack(connection, named);
            throw named;
        } catch (RuntimeException e) {
            rollBack(connection, e);
            throw e;
        }
    }

    private static void rollBack(Connection connection, Exception failure) {
        try {
            connection.rollback();
            connection.setAutoCommit(true);
        } catch (SQLException e) {
            failure.addSuppressed(e); // The connection is lost, and its work with it.
        }
    }

    /**
     * Waits until everything committed on the server so far is on its disk, including commits that did not wait.
     *
     * @param connection in auto-commit mode
     */
    public static void awaitDisk(Connection connection) throws SQLException {
        // A commit waits for the disk only if its transaction has written to the log.
        execute(
                connection,
                "BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'shardflake', ''); COMMIT");
    }

    /**
     * Closes a connection whose work is done. A server that is gone has ended it as well, so a failure here does not concern the work done with
     * it and must not be taken for its outcome.
     */
    public static void close(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            // Anything it would have ended has ended.
        }
    }

    /** Runs work with a connection, and closes it. */
    public static <T> T with(Connection connection, Query<T> query) throws SQLException {
        try {
            return query.run(connection);
        } finally {
            close(connection);
        }
    }

    public static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.setEscapeProcessing(false);
            statement.execute(sql);
        } catch (SQLException e) {
            throw named(connection, e);
        }
    }

    public static int update(Connection connection, String sql, @Nullable Object... parameters) throws SQLException {
        try (PreparedStatement statement = prepare(connection, sql, parameters)) {
            return statement.executeUpdate();
        } catch (SQLException e) {
            throw named(connection, e);
        }
    }

    /** Runs a query for its side effect, and ignores its result. */
    public static void call(Connection connection, String sql, Object... parameters) throws SQLException {
        try (PreparedStatement statement = prepare(connection, sql, parameters)) {
            statement.execute();
        } catch (SQLException e) {
            throw named(connection, e);
        }
    }

    public static <T> List<T> list(
            Connection connection, String sql, RowReader<T> reader, @Nullable Object... parameters)
            throws SQLException {
        List<T> rows = new ArrayList<>();
        try (PreparedStatement statement = prepare(connection, sql, parameters);
                ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                rows.add(reader.read(row));
            }
        } catch (SQLException e) {
            throw named(connection, e);
        }
        return rows;
    }

    public static long number(Connection connection, String sql, Object... parameters) throws SQLException {
        return list(connection, sql, row -> row.getLong(1), parameters).get(0);
    }

    public static boolean isTrue(Connection connection, String sql, Object... parameters) throws SQLException {
        return list(connection, sql, row -> row.getBoolean(1), parameters).get(0);
    }

    public static String text(Connection connection, String sql, Object... parameters) throws SQLException {
        return list(connection, sql, row -> row.getString(1), parameters).get(0);
    }

    /** The server's system identifier, which only its standbys and copies share, if the role may read it. */
    public static Optional<String> systemIdentifier(Connection connection) throws SQLException {
        boolean mayAsk = isTrue(connection, "SELECT has_function_privilege('pg_control_system()', 'execute')");
        return mayAsk
                ? Optional.of(text(connection, "SELECT system_identifier::text FROM pg_control_system()"))
                : Optional.empty();
    }

    private static PreparedStatement prepare(Connection connection, String sql, @Nullable Object... parameters)
            throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < parameters.length; i++) {
            if (parameters[i] instanceof ShardSet shards) {
                statement.setArray(
                        i + 1,
                        connection.createArrayOf(
                                "text",
                                shards.stream().mapToObj(Sharding::schema).toArray()));
            } else {
                statement.setObject(i + 1, parameters[i]);
            }
        }
        return statement;
    }

    /** A value as a literal, see {@link SqlText#literal}. */
    public static String quote(String text) {
        return SqlText.literal(text);
    }

    /** The failure of a connection, with the server's name if the session itself failed. For SQL that is run in other ways. */
    public static SQLException named(Connection connection, SQLException e) {
        return SessionFailedException.of(connection, e);
    }

    /** Runs another class's SQL, and names the server in failures of the session. If the session fails, the failure has its server's name. */
    public static <X extends Exception> void naming(Connection connection, Action<X> action) throws SQLException, X {
        try {
            action.run();
        } catch (SQLException e) {
            throw named(connection, e);
        }
    }

    /** Whether the server ran out of disk, memory, or something that a setting limits. Others may free some. */
    public static boolean isShortage(SQLException e) {
        return String.valueOf(e.getSQLState()).startsWith("53");
    }

    /** Whether a statement gave up waiting for a lock, or took too long; it did nothing. */
    public static boolean isInTheWay(SQLException e) {
        return NOT_IN_TIME.contains(String.valueOf(e.getSQLState()));
    }

    /** Whether the role lacks a privilege that the statement needs. */
    public static boolean isNotAllowed(SQLException e) {
        return "42501".equals(e.getSQLState());
    }

    /** Whether the server or the connection to it failed rather than the statement: a retry may succeed. */
    public static boolean isOutage(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        return state.startsWith("08") || state.startsWith("57P") || OUTAGES.contains(state);
    }

    /** The hint of a server's error, which the driver appends to the message on a separate line. */
    public static Optional<String> hint(Exception e) {
        return String.valueOf(e.getMessage())
                .lines()
                .map(String::strip)
                .filter(line -> line.startsWith("Hint: "))
                .map(line -> line.substring("Hint: ".length()))
                .findFirst();
    }

    /** The reason why a server gave no answer: its address if it cannot be reached, or its message. */
    public static String why(ServerUrl url, Throwable failure) {
        if (failure instanceof SessionFailedException session) {
            return message(session);
        }
        if (failure instanceof SQLException sql) {
            boolean isUnreachable = String.valueOf(sql.getSQLState()).startsWith("08");
            return isUnreachable ? "%s: %s".formatted(url.hosts(), ServerUrl.whyUnreachable(sql)) : message(sql);
        }
        return String.valueOf(failure.getMessage()).lines().findFirst().orElse("");
    }

    /** The first line of the server's message. */
    public static String message(SQLException e) {
        Optional<NoAnswerException> silent = NoAnswerException.in(e);
        if (silent.isPresent()) {
            return String.valueOf(silent.get().getMessage());
        }
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("").replaceFirst("^(FATAL|ERROR): ", "");
    }
}
