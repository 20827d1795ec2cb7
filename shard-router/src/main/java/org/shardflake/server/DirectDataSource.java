/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Asks PostgreSQL's driver directly for connections; {@code DriverManager} would first search every archive on the
 * class path for drivers.
 */
class DirectDataSource extends PGSimpleDataSource {

    private static final long serialVersionUID = 1;
    private static final Driver DRIVER = new Driver();
    private static final int DEFAULT_PORT = 5432;

    /** The SQLSTATEs with which servers refuse a password. */
    private static final Set<String> REFUSED = Set.of("28P01", "28000");

    private transient @Nullable PasswordSource passwords;

    /** Sets the source that is asked for a password when a connection is opened without one. */
    void ask(@Nullable PasswordSource source) {
        passwords = source;
    }

    @Override
    public Connection getConnection(@Nullable String user, @Nullable String password) throws SQLException {
        PasswordSource source = passwords;
        if (password != null || source == null) {
            return open(user, password);
        }
        PasswordSource.Login login = login(user);
        String asked = password(source, login);
        try {
            return open(user, asked);
        } catch (SQLException e) {
            if (!REFUSED.contains(String.valueOf(e.getSQLState()))) {
                throw e;
            }
            // It may have been replaced after it was given.
            source.refused(login, asked);
            String another = password(source, login);
            if (another.equals(asked)) {
                throw e;
            }
            return open(user, another);
        }
    }

    private PasswordSource.Login login(@Nullable String user) {
        String name = user != null ? user : System.getProperty("user.name", "");
        String database = getDatabaseName();
        int port = getPortNumbers()[0];
        return new PasswordSource.Login(
                String.join(",", getServerNames()),
                port == 0 ? DEFAULT_PORT : port,
                database == null || database.isEmpty() ? name : database,
                name);
    }

    private static String password(PasswordSource source, PasswordSource.Login login) throws SQLException {
        String password;
        try {
            password = source.password(login);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PasswordUnavailableException(login, "interrupted while waiting for it", e);
        } catch (Exception e) {
            String message = e.getMessage();
            throw new PasswordUnavailableException(login, message == null ? e.toString() : message, e);
        }
        if (password == null || password.isEmpty()) {
            throw new PasswordUnavailableException(login, "what its source gave is empty", null);
        }
        return password;
    }

    private Connection open(@Nullable String user, @Nullable String password) throws SQLException {
        Properties login = new Properties();
        if (user != null) {
            login.setProperty("user", user);
        }
        if (password != null) {
            login.setProperty("password", password);
        }
        Connection connection = DRIVER.connect(getURL(), login);
        if (connection == null) {
            throw new SQLException("the driver does not take the URL of " + getDescription(), "08001");
        }
        return connection;
    }
}
