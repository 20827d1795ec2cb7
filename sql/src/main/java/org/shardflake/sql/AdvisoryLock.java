/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An advisory lock that commands take, so that no two of them do the same work. Anyone who may connect can take it, too, so every wait for it
 * has an end, and its holder is named.
 *
 * @param name of the work
 * @param number which of several pieces of such work; null if there is one
 */
public record AdvisoryLock(String name, @Nullable Integer number) {

    private static final Duration INTERVAL = Duration.ofMillis(50);

    /** The time after which a wait is reported. */
    private static final Duration VOICE = Duration.ofSeconds(1);

    /** Finds the holders; a lock with one key is listed as two halves, and one with two keys as unsigned numbers. */
    private static final String HOLDERS = """
            SELECT pg_catalog.string_agg(pg_catalog.format('process %s of role %s%s', l.pid, a.usename,
                       CASE WHEN a.application_name OPERATOR(pg_catalog.<>) '' THEN pg_catalog.format(' (%s)', a.application_name) END), ', ')
              FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) l.pid
             WHERE l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.granted
               AND l.database OPERATOR(pg_catalog.=) (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
            """;

    private static final String OF_ONE_KEY = HOLDERS + """
               AND l.objsubid OPERATOR(pg_catalog.=) 1
               AND (l.classid::bigint OPERATOR(pg_catalog.<<) 32 OPERATOR(pg_catalog.|) l.objid::bigint) OPERATOR(pg_catalog.=) pg_catalog.hashtext(?)
            """;

    private static final String OF_TWO_KEYS = HOLDERS + """
               AND l.objsubid OPERATOR(pg_catalog.=) 2
               AND l.classid::bigint OPERATOR(pg_catalog.=) (pg_catalog.hashtext(?)::bigint OPERATOR(pg_catalog.&) 4294967295)
               AND l.objid::bigint OPERATOR(pg_catalog.=) (?::bigint OPERATOR(pg_catalog.&) 4294967295)
            """;

    public AdvisoryLock(String name) {
        this(name, null);
    }

    /**
     * Takes the lock for the session.
     *
     * @param connection in auto-commit mode
     * @param patience how long to wait for others; a server takes a moment to notice that a session's process was killed
     * @return empty, or who has had the lock for that long, for a message
     */
    public Optional<String> take(Connection connection, Duration patience) throws SQLException {
        return take(connection, patience, holders -> {});
    }

    /**
     * Takes the lock like {@link #take(Connection, Duration)}.
     *
     * @param listener is told who has the lock, once it has been awaited for a second, and again when that changes
     */
    public Optional<String> take(Connection connection, Duration patience, Consumer<String> listener)
            throws SQLException {
        long end = System.nanoTime() + patience.toNanos();
        long voice = System.nanoTime() + VOICE.toNanos();
        String told = "";
        while (!call(connection, "pg_try_advisory_lock")) {
            if (System.nanoTime() - voice > 0) {
                voice = System.nanoTime() + VOICE.toNanos();
                String holders = holders(connection);
                if (!holders.equals(told)) {
                    told = holders;
                    listener.accept(holders);
                }
            }
            if (System.nanoTime() - end > 0) {
                return Optional.of(holders(connection));
            }
            try {
                Thread.sleep(INTERVAL.toMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new SQLException("interrupted while waiting for another command", "57014", e);
            }
        }
        return Optional.empty();
    }

    /** Releases the lock. */
    public void release(Connection connection) throws SQLException {
        call(connection, "pg_advisory_unlock");
    }

    private boolean call(Connection connection, String function) throws SQLException {
        String sql = "SELECT pg_catalog.%s(pg_catalog.hashtext(?)%s)".formatted(function, number == null ? "" : ", ?");
        try (PreparedStatement statement = prepare(connection, sql);
                ResultSet row = statement.executeQuery()) {
            return row.next() && row.getBoolean(1);
        }
    }

    private String holders(Connection connection) throws SQLException {
        return holder(connection).orElse("a session that has just ended");
    }

    /** The session that holds the lock, for a message; empty if none does. */
    public Optional<String> holder(Connection connection) throws SQLException {
        try (PreparedStatement statement = prepare(connection, number == null ? OF_ONE_KEY : OF_TWO_KEYS);
                ResultSet row = statement.executeQuery()) {
            return row.next() ? Optional.ofNullable(row.getString(1)) : Optional.empty();
        }
    }

    private PreparedStatement prepare(Connection connection, String sql) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        statement.setString(1, name);
        if (number != null) {
            statement.setInt(2, number);
        }
        return statement;
    }
}
