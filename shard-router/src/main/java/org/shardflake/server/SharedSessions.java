/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.Set;
import org.postgresql.PGConnection;

/**
 * Detects whether something in front of the server gives each transaction another session, as PgBouncer does with {@code pool_mode =
 * transaction}. What we set in such a session is seen by its next user, and is lost to us.
 *
 * <p>A server tells its process at the login, and a pooler makes one up. So a pooler is suspected when a session runs in
 * another process than the login said, and found when two connections meet in one process, or one changes its process. A
 * pooler that passes the login on is not found; nor is one whose other clients keep all its sessions busy meanwhile, and
 * leave us one each. Leaves nothing in any session.
 */
public final class SharedSessions {

    private static final int LOOKS = 20;

    private SharedSessions() {}

    /**
     * Whether the connection's transactions may run in different sessions.
     *
     * @param another opens a second connection in the same way; only called if there is a suspicion
     */
    public static boolean isBehind(Connection connection, Opener another) throws SQLException {
        if (process(connection) == connection.unwrap(PGConnection.class).getBackendPID()) {
            return false;
        }
        Set<Integer> ours = new HashSet<>();
        Set<Integer> others = new HashSet<>();
        try (Connection second = another.open()) {
            for (int look = 0; look < LOOKS; look++) {
                ours.add(process(connection));
                others.add(process(second));
                if (ours.size() > 1 || others.size() > 1 || ours.equals(others)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static int process(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_catalog.pg_backend_pid()")) {
            row.next();
            return row.getInt(1);
        }
    }

    /** Opens a connection. */
    @FunctionalInterface
    public interface Opener {
        Connection open() throws SQLException;
    }
}
