/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.stream.Collectors;

/** A server that runs elsewhere. */
final class ExternalServer extends ClusterServer {
    private final PostgresUrl url;

    ExternalServer(String name, PostgresUrl url) {
        super(name);
        this.url = url;
    }

    /** Checks the settings that cannot be changed from here. */
    @Override
    void open() {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet walLevel = statement.executeQuery("SHOW wal_level")) {
            walLevel.next();
            if (!"logical".equals(walLevel.getString(1))) {
                throw new PostgresClusterException(
                        this + " has wal_level = " + walLevel.getString(1) + ", but needs logical");
            }
        } catch (SQLException e) {
            throw new PostgresClusterException("cannot connect to " + this + ": " + e.getMessage(), e);
        }
    }

    @Override
    void close() {}

    @Override
    String host() {
        return url.host();
    }

    @Override
    int port() {
        return url.port();
    }

    @Override
    public String user() {
        return url.user();
    }

    @Override
    public String password() {
        return url.password();
    }

    @Override
    public String jdbcUrl(String database) {
        return super.jdbcUrl(database) + query();
    }

    @Override
    public String uri(String database) {
        return super.uri(database) + query();
    }

    @Override
    public void crash() {
        throw notOurs();
    }

    @Override
    public void stop() {
        throw notOurs();
    }

    @Override
    public void start() {
        throw notOurs();
    }

    @Override
    public boolean canRestart() {
        return false;
    }

    private String query() {
        return url.parameters().isEmpty()
                ? ""
                : url.parameters().entrySet().stream()
                        .map(parameter -> parameter.getKey() + "=" + encode(parameter.getValue()))
                        .collect(Collectors.joining("&", "?", ""));
    }

    private UnsupportedOperationException notOurs() {
        return new UnsupportedOperationException(this + " was given by URL and is not the cluster's to stop or start");
    }
}
