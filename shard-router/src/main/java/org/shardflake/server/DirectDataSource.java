/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;
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

    @Override
    public Connection getConnection(@Nullable String user, @Nullable String password) throws SQLException {
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
