/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Makes deployments to a database wait for each other. That is also what makes a Liquibase lock left by a killed process
 * recognisable: whoever holds this one is alone.
 */
record DeployLock(Connection connection, boolean autoCommit) implements AutoCloseable {

    static DeployLock take(Connection connection) throws SQLException {
        DeployLock lock = new DeployLock(connection, connection.getAutoCommit());
        connection.setAutoCommit(true);
        lock.execute("SELECT pg_advisory_lock(hashtext('shardflake.deploy'))");
        return lock;
    }

    /** Gives the lock back, and the connection its mode, also after Liquibase failed in a transaction. */
    @Override
    public void close() throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.rollback();
            connection.setAutoCommit(true);
        }
        execute("SELECT pg_advisory_unlock(hashtext('shardflake.deploy'))");
        connection.setAutoCommit(autoCommit);
    }

    void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
