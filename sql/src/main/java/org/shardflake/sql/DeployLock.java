/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Makes deployments to a database wait for each other. Its holder is alone, so a Liquibase lock it finds was left by a
 * killed process.
 *
 * <p>Meanwhile names resolve to {@code pg_catalog}, whatever others may have put into the schemas of the deployer's
 * {@code search_path}: anything bound then runs with the rights of the library's owner forever.
 */
record DeployLock(Connection connection, boolean autoCommit, String searchPath) implements AutoCloseable {

    static DeployLock take(Connection connection) throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        connection.setAutoCommit(true);
        DeployLock lock = new DeployLock(connection, autoCommit, searchPath(connection));
        lock.execute("SET search_path = pg_catalog, pg_temp");
        try {
            lock.execute("SELECT pg_advisory_lock(hashtext('shardflake.deploy'))");
        } catch (SQLException e) {
            lock.restoreSearchPath();
            throw e;
        }
        return lock;
    }

    private static String searchPath(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet path = statement.executeQuery("SELECT pg_catalog.current_setting('search_path')")) {
            path.next();
            return path.getString(1);
        }
    }

    private void restoreSearchPath() throws SQLException {
        try (PreparedStatement restore =
                connection.prepareStatement("SELECT pg_catalog.set_config('search_path', ?, false)")) {
            restore.setString(1, searchPath);
            restore.execute();
        }
    }

    /** Releases the lock and restores the connection's mode, even if Liquibase failed in a transaction. */
    @Override
    public void close() throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.rollback();
            connection.setAutoCommit(true);
        }
        execute("SELECT pg_catalog.pg_advisory_unlock(pg_catalog.hashtext('shardflake.deploy'))");
        restoreSearchPath();
        connection.setAutoCommit(autoCommit);
    }

    void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
