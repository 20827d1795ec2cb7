/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;

/** A server under its cluster's control, which is started first and closed last. */
abstract class ClusterServer implements PostgresServer {
    private static final Duration START_TIMEOUT = Duration.ofSeconds(60);

    private final String name;
    private int majorVersion;

    ClusterServer(String name) {
        this.name = name;
    }

    abstract String host();

    abstract int port();

    /** Makes the server ready for its first use. */
    abstract void open();

    /** Stops the server if it is the cluster's own, and discards its data. Idempotent; later starts fail. */
    abstract void close();

    @Override
    public final String name() {
        return name;
    }

    @Override
    public String user() {
        return "postgres";
    }

    @Override
    public String password() {
        return "";
    }

    @Override
    public String jdbcUrl(String database) {
        return "jdbc:postgresql://" + host() + ":" + port() + "/" + encode(database);
    }

    @Override
    public String uri(String database) {
        String credentials = encode(user()) + (password().isEmpty() ? "" : ":" + encode(password()));
        return "postgresql://" + credentials + "@" + host() + ":" + port() + "/" + encode(database);
    }

    @Override
    public Connection connect(String database) throws SQLException {
        return connect(database, user(), password());
    }

    Connection connect(String database, String user, String password) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        if (!password.isEmpty()) {
            properties.setProperty("password", password);
        }
        return DriverManager.getConnection(jdbcUrl(database), properties);
    }

    @Override
    public final synchronized int majorVersion() {
        if (majorVersion == 0) {
            try (Connection connection = connect()) {
                majorVersion = connection.getMetaData().getDatabaseMajorVersion();
            } catch (SQLException e) {
                throw new PostgresClusterException("cannot ask " + this + " for its version: " + e.getMessage(), e);
            }
        }
        return majorVersion;
    }

    /** Waits until the server accepts connections, including its recovery if necessary. */
    final void awaitConnection() {
        long deadline = System.nanoTime() + START_TIMEOUT.toNanos();
        while (true) {
            try (Connection connection = connect()) {
                return;
            } catch (SQLException e) {
                if (System.nanoTime() > deadline || !isRunning()) {
                    throw new PostgresClusterException(
                            this + " does not accept connections: " + e.getMessage() + logTail(), e);
                }
            }
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new PostgresClusterException("interrupted while starting " + this, e);
            }
        }
    }

    /** Fails with the hint if the server runs another major version. */
    final void requireVersion(int wanted, String hint) {
        if (majorVersion() != wanted) {
            throw new PostgresClusterException(
                    this + " runs PostgreSQL " + majorVersion() + ", but " + wanted + " is asked for: " + hint);
        }
    }

    /** Whether the server is running, so that waiting for it makes sense. */
    boolean isRunning() {
        return true;
    }

    /** The end of the server's log for error messages, starting on a new line; empty if there is no log. */
    String logTail() {
        return "";
    }

    @Override
    public String toString() {
        return name + " (" + host() + ":" + port() + ")";
    }

    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
