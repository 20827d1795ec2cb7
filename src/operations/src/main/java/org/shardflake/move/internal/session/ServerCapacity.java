/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.List;
import org.shardflake.jdbc.Sql;

/**
 * The capacity of a server for more concurrent moves.
 *
 * @param moves by the setting that is shortest
 * @param because what is short, in words
 */
public record ServerCapacity(String server, int moves, String because) {

    /**
     * Reads settings, how much of each is in use, how much each move needs, and how much the first one needs once: a sender for the snapshot
     * while another server follows already.
     */
    private static final String SETTINGS = """
            SELECT name, most, used, once, each FROM (VALUES
                ('max_replication_slots', current_setting('max_replication_slots')::bigint,
                 (SELECT count(*) FROM pg_replication_slots), 0, 1),
                ('max_wal_senders', current_setting('max_wal_senders')::bigint,
                 (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender'), 1, 1),
                ('max_logical_replication_workers', current_setting('max_logical_replication_workers')::bigint,
                 (SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'logical replication%%worker'), 0, 1),
                (CASE WHEN current_setting('max_active_replication_origins', true) IS NULL THEN 'max_replication_slots' ELSE 'max_active_replication_origins' END,
                 COALESCE(current_setting('max_active_replication_origins', true), current_setting('max_replication_slots'))::bigint,
                 (SELECT count(*) FROM pg_replication_origin), 0, 1),
                ('max_connections', current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint - COALESCE(current_setting('reserved_connections', true), '0')::bigint,
                 (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), 0, %s)
                ) AS s (name, most, used, once, each)
            """;

    /** The number of sessions of one move: one that runs it, one that cuts over, and those of waiting comparisons. */
    private static final int SESSIONS = 7;

    private record Setting(String name, long most, long used, int once, int each) {
        int moves() {
            return (int) Math.max(0, (most - used - once) / each);
        }

        String because() {
            return "of %s, which is %s, %s are in use, and a move needs %s".formatted(name, most, used, each);
        }
    }

    public static ServerCapacity read(Connection connection, String server, int jobs) throws SQLException {
        List<Setting> settings = Sql.list(
                connection,
                SETTINGS.formatted(SESSIONS + jobs),
                row -> new Setting(row.getString(1), row.getLong(2), row.getLong(3), row.getInt(4), row.getInt(5)));
        Setting shortest =
                settings.stream().min(Comparator.comparingInt(Setting::moves)).orElseThrow();
        return new ServerCapacity(server, shortest.moves(), shortest.because());
    }
}
