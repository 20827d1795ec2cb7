/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.shardflake.jdbc.Sql;

/**
 * An estimate of the memory that a server's sessions use to cache the shards' tables.
 *
 * @param tables of all shards on the server
 * @param sessions of the database, without those of commands
 * @param clients sessions of it, but at most two of the same address, role and application name: a router lends its connections by shard, so
 *     that about two of them know the same table
 */
public record SessionMemory(long tables, long sessions, long clients) {

    /** The cached size of a table with three indexes, and of a prepared statement with its plan. */
    private static final long BYTES_A_TABLE = 38_000;

    private static final long BYTES_A_SESSION = 2_000_000;

    /**
     * A query for the numbers that the estimate needs. Without {@code pg_read_all_stats} the addresses and kinds of other roles' sessions are
     * hidden, and sessions of one role and application name count as one client.
     */
    public static final String QUERY = """
            SELECT (SELECT count(*) FROM pg_class
                     WHERE relkind = 'r' AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$')),
                   COALESCE(sum(sessions), 0)::bigint, COALESCE(sum(LEAST(sessions, 2)), 0)::bigint
              FROM (SELECT count(*) AS sessions FROM pg_stat_activity
                     WHERE datname = current_database() AND COALESCE(backend_type, 'client backend') = 'client backend'
                       AND pid <> pg_backend_pid() AND application_name NOT LIKE 'shardflake %'
                     GROUP BY client_addr, usesysid, application_name) AS client
            """;

    /** Reads a row of {@link #QUERY}. */
    public static SessionMemory read(ResultSet row) throws SQLException {
        return new SessionMemory(row.getLong(1), row.getLong(2), row.getLong(3));
    }

    /** Reads the numbers from a server. */
    public static SessionMemory read(Connection connection) throws SQLException {
        return Sql.list(connection, QUERY, SessionMemory::read).get(0);
    }

    /**
     * The estimate, in bytes.
     *
     * @param pooled whether applications connect through a pooler, each of whose sessions comes to know all shards
     */
    public long bytes(boolean pooled) {
        return tables * BYTES_A_TABLE * (pooled ? sessions : clients) + sessions * BYTES_A_SESSION;
    }
}
