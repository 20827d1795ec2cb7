/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;

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
        Poll poll = Poll.everyMillis(100, patience);
        if (!poll.until(() -> Sql.isTrue(connection, "SELECT pg_try_advisory_lock(" + KEY + ")"))) {
            throw new DeployRefusedException(
                    "another schema deployment works on server %s; wait for it to end".formatted(server));
        }
        return new SchemaLock(connection);
    }

    @Override
    public void close() throws SQLException {
        Sql.isTrue(connection, "SELECT pg_advisory_unlock(" + KEY + ")");
    }
}
