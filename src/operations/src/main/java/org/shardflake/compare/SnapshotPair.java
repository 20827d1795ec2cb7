/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.jdbc.Sql;

/** A session on each of two servers for comparing copies; the snapshots are taken by the first query after {@link #reset}. */
public record SnapshotPair(Connection first, Connection second) implements AutoCloseable {

    /** Opens a session on a server. */
    @FunctionalInterface
    public interface Opener {
        Connection connect() throws SQLException;
    }

    public static SnapshotPair open(Opener one, Opener other) throws SQLException {
        Connection first = open(one);
        try {
            return new SnapshotPair(first, open(other));
        } catch (SQLException e) {
            Sql.close(first);
            throw e;
        }
    }

    /** Opens one session. */
    public static Connection open(Opener side) throws SQLException {
        Connection connection = side.connect();
        try {
            Rows.prepare(connection);
            return connection;
        } catch (SQLException e) {
            Sql.close(connection);
            throw e;
        }
    }

    /** Discards the snapshots. Fails if a session is broken, so that this is not discovered while writers wait. */
    public void reset() throws SQLException {
        for (Connection connection : List.of(first, second)) {
            connection.rollback();
            Sql.call(connection, "SELECT 1");
            connection.rollback();
        }
    }

    @Override
    public void close() {
        Sql.close(second);
        Sql.close(first);
    }
}
