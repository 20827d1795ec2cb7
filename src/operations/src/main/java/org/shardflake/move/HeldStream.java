/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.jdbc.Sql;

/**
 * A stream that stops before the publisher's next mark: a lock on the row of marks keeps the subscriber from applying more. Its worker waits,
 * and goes on as soon as this is closed, or its process has ended.
 */
final class HeldStream implements AutoCloseable {

    private final Connection connection;

    private HeldStream(Connection connection) {
        this.connection = connection;
    }

    static HeldStream hold(Stream stream) throws SQLException {
        Connection connection = stream.subscriber().connect();
        try {
            connection.setAutoCommit(false);
            Sql.call(connection, stream.lockMarksSql());
            return new HeldStream(connection);
        } catch (SQLException e) {
            Sql.close(connection);
            throw e;
        }
    }

    @Override
    public void close() {
        Sql.close(connection);
    }
}
