/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.shardflake.sql.AdvisoryLock;

/** The lock that every change to the schemas of a server's shards requires. It is released when its session ends, if not before. */
public final class SchemaLock implements AutoCloseable {

    private static final AdvisoryLock LOCK = new AdvisoryLock("shardflake.schema");

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
        return take(connection, server, patience, holder -> {});
    }

    /**
     * Takes the lock, and reports when it has to wait.
     *
     * @param listener is told who holds the lock, once it has been awaited for a second
     */
    public static SchemaLock take(Connection connection, String server, Duration patience, Consumer<String> listener)
            throws SQLException {
        Optional<String> holder = LOCK.take(
                connection,
                patience,
                others -> listener.accept("%s waits for the schema lock, which %s holds".formatted(server, others)));
        if (holder.isPresent()) {
            throw new DeployRefusedException(
                    "another schema deployment works on server %s: %s holds its lock. Wait for it to end"
                            .formatted(server, holder.get()));
        }
        return new SchemaLock(connection);
    }

    @Override
    public void close() throws SQLException {
        LOCK.release(connection);
    }
}
