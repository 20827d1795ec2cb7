/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.DeploymentException;

/** Work on one server over one connection; its failures name the server. */
final class ServerWork implements AutoCloseable {

    @FunctionalInterface
    interface Task {
        void run(Connection connection) throws SQLException;
    }

    private final ServerUrl url;
    private final Connection connection;

    private ServerWork(ServerUrl url, Connection connection) {
        this.url = url;
        this.connection = connection;
    }

    /** @throws ServerFailedException if there is no connection to the primary */
    static ServerWork connect(ServerUrl url) {
        try {
            return new ServerWork(url, url.connect("shardflake"));
        } catch (SQLException e) {
            throw ServerFailedException.connecting(url, e);
        }
    }

    /** @throws ServerFailedException if the server fails, or has a newer Shardflake's SQL */
    void run(Task task) {
        try {
            task.run(connection);
        } catch (SQLException e) {
            throw ServerFailedException.statement(url, e);
        } catch (DeploymentException e) {
            throw ServerFailedException.deploying(url, e);
        }
    }

    @Override
    public void close() {
        Sql.close(connection);
    }
}
