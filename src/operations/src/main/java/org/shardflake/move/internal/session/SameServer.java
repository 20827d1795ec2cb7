/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.ThreadLocalRandom;
import org.shardflake.jdbc.Sql;

/** Finds out whether two connections lead to the same server, by a lock that one takes and the other sees. */
public final class SameServer implements AutoCloseable {

    private final Connection connection;
    private final long key;

    private SameServer(Connection connection, long key) {
        this.connection = connection;
        this.key = key;
    }

    /** Takes the lock on a connection's server, until this object is closed. */
    public static SameServer as(Connection connection) throws SQLException {
        long key = ThreadLocalRandom.current().nextLong(1, Integer.MAX_VALUE);
        Sql.call(connection, "SELECT pg_try_advisory_lock(?)", key);
        return new SameServer(connection, key);
    }

    /** Whether another connection leads to the same server, in any database. */
    public boolean has(Connection another) throws SQLException {
        return has(another, "true");
    }

    /** Whether another connection leads to the same database of the same server. */
    public boolean hasDatabase(Connection another) throws SQLException {
        return has(another, "database = (SELECT oid FROM pg_database WHERE datname = current_database())");
    }

    private boolean has(Connection another, String condition) throws SQLException {
        return Sql.isTrue(
                another,
                "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = ?::bigint::oid AND pid = ? AND %s)"
                        .formatted(condition),
                key,
                Sql.number(connection, "SELECT pg_backend_pid()"));
    }

    @Override
    public void close() throws SQLException {
        Sql.call(connection, "SELECT pg_advisory_unlock(?)", key);
    }
}
