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
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Makes concurrent deployments to a database wait for each other. Its holder is alone, so a Liquibase lock it finds was left by a killed
 * process.
 *
 * <p>Until it is released, the session has settings that decide what the library's SQL means: names resolve to
 * {@code pg_catalog}, whatever others may have put into the schemas of the deployer's {@code search_path}, since anything
 * bound then runs with the rights of the library's owner forever. Time limits stay the caller's.
 */
record DeployLock(Connection connection, boolean autoCommit, Map<String, String> settings) implements AutoCloseable {

    private static final Map<String, String> PINNED = Map.of(
            "search_path", "pg_catalog, pg_temp",
            "standard_conforming_strings", "on",
            "quote_all_identifiers", "off",
            "transform_null_equals", "off",
            "array_nulls", "on",
            "check_function_bodies", "on",
            "row_security", "off",
            "exit_on_error", "off",
            "default_transaction_read_only", "off",
            "default_transaction_isolation", "read committed");

    private static final AdvisoryLock LOCK = new AdvisoryLock("shardflake.deploy");

    /** The time to wait for a deployment of the library and the catalog, which takes seconds. */
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    static DeployLock take(Connection connection) throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        connection.setAutoCommit(true);
        DeployLock lock = new DeployLock(connection, autoCommit, settings(connection));
        try {
            lock.set(PINNED);
            Optional<String> holder = LOCK.take(connection, PATIENCE);
            if (holder.isPresent()) {
                throw new DeploymentException(
                        "another deployment has not ended within %s s. %s holds its lock: wait for it, or end it with pg_terminate_backend"
                                .formatted(PATIENCE.toSeconds(), holder.get()));
            }
        } catch (SQLException | RuntimeException e) {
            lock.restore();
            throw e;
        }
        return lock;
    }

    private static Map<String, String> settings(Connection connection) throws SQLException {
        Map<String, String> settings = new HashMap<>();
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.unnest(?::pg_catalog.text[]) setting (name)")) {
            statement.setArray(
                    1, connection.createArrayOf("text", PINNED.keySet().toArray()));
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    settings.put(rows.getString(1), rows.getString(2));
                }
            }
        }
        return settings;
    }

    private void set(Map<String, String> wanted) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT pg_catalog.set_config(name, value, false) FROM ROWS FROM (pg_catalog.unnest(?::pg_catalog.text[]), pg_catalog.unnest(?::pg_catalog.text[])) setting (name, value)")) {
            statement.setArray(
                    1, connection.createArrayOf("text", wanted.keySet().toArray()));
            statement.setArray(
                    2, connection.createArrayOf("text", wanted.values().toArray()));
            statement.execute();
        }
    }

    private void restore() throws SQLException {
        set(settings);
    }

    /** Releases the lock and restores the connection's mode, even if Liquibase failed in a transaction. */
    @Override
    public void close() throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.rollback();
            connection.setAutoCommit(true);
        }
        LOCK.release(connection);
        restore();
        connection.setAutoCommit(autoCommit);
    }

    void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
