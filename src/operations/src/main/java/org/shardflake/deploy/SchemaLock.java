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

/** The lock under which the schema of a server's shards changes. It is released when its session ends, if not before. */
public final class SchemaLock implements AutoCloseable {

    private static final String KEY = "hashtext('shardflake.schema')";

    private final Connection connection;

    private SchemaLock(Connection connection) {
        this.connection = connection;
    }

    /**
     * Takes the lock on the server of a connection in auto-commit mode.
     *
     * @param patience how long to wait for others; a server takes a moment to notice that a session's process was killed
     * @throws DeployRefusedException if others have held it for that long
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
