/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import javax.sql.DataSource;

/** Generates each id in a database, by one statement over one connection. */
final class StatementGenerator implements LongIdGenerator {

    private final Connection connection;
    private final PreparedStatement statement;

    /**
     * Connects, and creates the objects that the statement needs.
     *
     * @param look an expression that is null if that is missing
     * @param make statements that create it
     */
    StatementGenerator(DataSource dataSource, String look, String[] make, String draw) throws SQLException {
        connection = dataSource.getConnection();
        try {
            SchemeTables.ensure(connection, look, make);
            statement = connection.prepareStatement(draw);
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
    }

    @Override
    public synchronized long nextLong() throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            row.next();
            return row.getLong(1);
        }
    }

    @Override
    public synchronized void close() throws SQLException {
        connection.close();
    }
}
