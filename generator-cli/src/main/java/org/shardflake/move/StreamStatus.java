/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.jdbc.Sql;

/**
 * How one direction of a move's replication is.
 *
 * @param running whether the subscriber is connected and receives
 * @param lagBytes of write-ahead log that the subscriber has not confirmed, and the publisher keeps for it
 * @param lagMillis how long the subscriber took for what it last confirmed
 * @param applyErrors how often the subscriber failed to apply a change
 */
public record StreamStatus(boolean running, long lagBytes, long lagMillis, long applyErrors) {

    private static final String PUBLISHER = """
            SELECT s.active, pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::bigint,
                   COALESCE((SELECT extract(epoch FROM r.replay_lag) * 1000 FROM pg_stat_replication r WHERE r.pid = s.active_pid), 0)::bigint
              FROM pg_replication_slots s WHERE s.slot_name = ?
            """;

    /** The stream of a move from one server to another; not running before it is made. */
    static StreamStatus read(String name, MoveServer publisher, MoveServer subscriber) throws SQLException {
        List<StreamStatus> found;
        try (Connection connection = publisher.connect("shardflake move status")) {
            found = Sql.list(
                    connection,
                    PUBLISHER,
                    row -> new StreamStatus(row.getBoolean(1), row.getLong(2), row.getLong(3), 0),
                    name);
        }
        if (found.isEmpty()) {
            return new StreamStatus(false, 0, 0, 0);
        }
        try (Connection connection = subscriber.connect("shardflake move status")) {
            long errors = Sql.number(
                    connection,
                    "SELECT COALESCE(sum(apply_error_count), 0) FROM pg_stat_subscription_stats WHERE subname = ?",
                    name);
            StreamStatus slot = found.get(0);
            return new StreamStatus(slot.running(), slot.lagBytes(), slot.lagMillis(), errors);
        }
    }
}
