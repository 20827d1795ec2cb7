/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Shows whether tables, functions or other objects have been created, changed or dropped in a database.
 *
 * @param counters null if PostgreSQL does not count
 * @param looked when they were read, in nanoseconds of the caller's clock
 */
record CatalogChanges(@Nullable String counters, long looked) {

    /** The interval at which the server is asked for changes. */
    private static final Duration LOOK_AGAIN = Duration.ofMinutes(1);

    /**
     * Reads a text that differs, within seconds, after any object in the database was created, changed or dropped; empty if PostgreSQL does not
     * count changes. The counters are reset after a crash and when a standby is promoted, so the text includes the time of the reset. It calls
     * functions, since some servers hide the views from applications.
     */
    private static final String CHANGES = """
            SELECT CASE WHEN pg_catalog.current_setting('track_counts')::boolean
                   THEN pg_catalog.concat_ws(' ', pg_catalog.sum(pg_catalog.pg_stat_get_tuples_inserted(c)), pg_catalog.sum(pg_catalog.pg_stat_get_tuples_updated(c)), pg_catalog.sum(pg_catalog.pg_stat_get_tuples_deleted(c)),
                                  pg_catalog.pg_postmaster_start_time(), (SELECT stats_reset FROM pg_catalog.pg_stat_get_wal()),
                                  (SELECT pg_catalog.pg_stat_get_db_stat_reset_time(oid) FROM pg_catalog.pg_database WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database())) END
              FROM pg_catalog.unnest(ARRAY['pg_catalog.pg_namespace', 'pg_catalog.pg_class', 'pg_catalog.pg_attribute', 'pg_catalog.pg_type',
                                           'pg_catalog.pg_proc', 'pg_catalog.pg_depend']::pg_catalog.regclass[]) c
            """;

    static CatalogChanges read(Connection pooled, long now) throws SQLException {
        try (Statement statement = pooled.createStatement();
                ResultSet row = statement.executeQuery(CHANGES)) {
            row.next();
            return new CatalogChanges(row.getString(1), now);
        }
    }

    boolean isOld(long now) {
        return now - looked > LOOK_AGAIN.toNanos();
    }

    boolean isNothingSince(CatalogChanges earlier) {
        return looked == earlier.looked || (counters != null && counters.equals(earlier.counters));
    }
}
