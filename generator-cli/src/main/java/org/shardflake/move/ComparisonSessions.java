/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/** A session on each of two servers, in which copies are looked at: each time as they are at the first query since {@link #reset}. */
record ComparisonSessions(Connection source, Connection target) implements AutoCloseable {

    static ComparisonSessions open(MoveSession session) throws SQLException {
        Connection source = session.source().connect();
        try {
            ComparisonSessions opened =
                    new ComparisonSessions(source, session.target().connect());
            Rows.prepare(List.of(opened.source, opened.target));
            return opened;
        } catch (SQLException e) {
            source.close();
            throw e;
        }
    }

    /** Forgets what was seen. It fails if a session is broken, so that nobody finds that out while writers wait. */
    void reset() throws SQLException {
        for (Connection connection : List.of(source, target)) {
            connection.rollback();
            Sql.call(connection, "SELECT 1");
            connection.rollback();
        }
    }

    @Override
    public void close() throws SQLException {
        try (Connection closedToo = source) {
            target.close();
        }
    }
}
