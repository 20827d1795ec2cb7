/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/** The lock under which the schema of a server's shards changes. It goes with its session, if that ends earlier. */
public final class SchemaLock implements AutoCloseable {

    private static final String KEY = "hashtext('shardflake.schema')";

    private final Connection connection;

    private SchemaLock(Connection connection) {
        this.connection = connection;
    }

    /**
     * Takes the lock of the server that a connection in auto-commit mode is with.
     *
     * @param patience how long to wait for others; a session whose process was killed takes the server a moment to notice
     * @throws DeployRefusedException if others have had it for that long
     */
    public static SchemaLock take(Connection connection, String server, Duration patience) throws SQLException {
        long end = System.nanoTime() + patience.toNanos();
        while (!isTrue(connection, "SELECT pg_try_advisory_lock(" + KEY + ")")) {
            if (System.nanoTime() - end > 0) {
                throw new DeployRefusedException(
                        "another schema deployment works on server %s; wait for it to end".formatted(server));
            }
            try {
                Thread.sleep(100);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new DeployException("interrupted while waiting for another deployment", e);
            }
        }
        return new SchemaLock(connection);
    }

    @Override
    public void close() throws SQLException {
        isTrue(connection, "SELECT pg_advisory_unlock(" + KEY + ")");
    }

    private static boolean isTrue(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getBoolean(1);
        }
    }
}
