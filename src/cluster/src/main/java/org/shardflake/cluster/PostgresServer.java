/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * One PostgreSQL server of a {@link PostgresCluster}.
 *
 * <p>Thread-safe. The cluster owns it and stops it; connections belong to the code that opens them. Its URLs stay the
 * same through {@link #crash()}, {@link #stop()} and {@link #start()}, and work from this machine as well as from the
 * other servers of the cluster, so that one server can subscribe to another.
 */
public interface PostgresServer {
    /** The name within the cluster: {@code db1}, {@code db2} and so on. */
    String name();

    /** The JDBC URL of a database, without user and password. */
    String jdbcUrl(String database);

    /** The libpq URI of a database with user and, if there is one, password, as {@code psql} accepts it. */
    String uri(String database);

    /** The name of the superuser. */
    String user();

    /** The superuser's password, empty when none is needed. */
    String password();

    /** Opens a connection as superuser; the caller closes it. */
    Connection connect(String database) throws SQLException;

    /** Opens a connection to the database {@code postgres} as superuser; the caller closes it. */
    default Connection connect() throws SQLException {
        return connect("postgres");
    }

    /** The major version of the running server, such as 18. */
    int majorVersion();

    /**
     * Kills the server as {@code pg_ctl stop -m immediate} does: sessions are cut, nothing is flushed, and the next
     * start recovers from WAL. Returns when the server is down.
     *
     * @throws UnsupportedOperationException if {@link #canRestart()} is false
     */
    void crash();

    /**
     * Like {@link #crash()}, but by SIGKILL of all processes, as when a machine loses its power or has no memory left: sessions get no last message.
     * Only embedded servers differ from {@link #crash()}.
     */
    default void kill() {
        crash();
    }

    /**
     * Shuts the server down properly, rolling back and disconnecting open sessions. Returns when the server is down.
     *
     * @throws UnsupportedOperationException if {@link #canRestart()} is false
     */
    void stop();

    /**
     * Starts the server again after {@link #crash()} or {@link #stop()}, on the same port and data. Returns when it
     * accepts connections; does nothing if it is running.
     *
     * @throws UnsupportedOperationException if {@link #canRestart()} is false
     */
    void start();

    /** Whether this cluster may crash, stop and start the server; false for a server given by URL. */
    boolean canRestart();

    /**
     * Stops all processes of the server by SIGSTOP: connections stay open, the operating system accepts new ones, and nothing answers until
     * {@link #thaw()}. For embedded servers on systems with signals.
     *
     * @throws UnsupportedOperationException if it is a different kind of server
     */
    default void freeze() {
        throw new UnsupportedOperationException(this + " cannot be frozen");
    }

    /** Resumes the processes after {@link #freeze()}; does nothing if they are running. */
    default void thaw() {}
}
