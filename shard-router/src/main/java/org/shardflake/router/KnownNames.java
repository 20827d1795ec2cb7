/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;

/** The names of the schemas of a server's shards, asked for once as long as nothing is changed there. Thread-safe. */
final class KnownNames {

    /** The interval at which the server is asked whether something is changed. */
    private static final Duration LOOK_AGAIN = Duration.ofMinutes(1);

    /**
     * Another text after each object that was created, changed or dropped in the database, within seconds; nothing if PostgreSQL does not
     * count. The counters begin anew after a crash and on a standby that was promoted, so the text has when they began.
     */
    private static final String CHANGES = """
            SELECT CASE WHEN current_setting('track_counts')::boolean
                   THEN concat_ws(' ', sum(pg_catalog.pg_stat_get_tuples_inserted(c) + pg_catalog.pg_stat_get_tuples_updated(c) + pg_catalog.pg_stat_get_tuples_deleted(c)),
                                  pg_catalog.pg_postmaster_start_time(), (SELECT stats_reset FROM pg_catalog.pg_stat_wal),
                                  (SELECT stats_reset FROM pg_catalog.pg_stat_database WHERE datname = current_database())) END
              FROM pg_catalog.unnest(ARRAY['pg_catalog.pg_namespace', 'pg_catalog.pg_class', 'pg_catalog.pg_attribute', 'pg_catalog.pg_type',
                                           'pg_catalog.pg_proc', 'pg_catalog.pg_depend']::pg_catalog.regclass[]) c
            """;

    private final LongSupplier nanoTime;
    private final Map<Integer, Names> names = new ConcurrentHashMap<>();
    private volatile @Nullable Changes changes;

    /** The names of a shard's schema, and the changes of the database before they were asked for. */
    private record Names(ShardNames names, Changes before) {}

    /**
     * What tells whether something has changed in the database.
     *
     * @param counters null if PostgreSQL does not count
     * @param looked when that was found, in nanoseconds of the clock given
     */
    private record Changes(@Nullable String counters, long looked) {

        boolean isOld(long now) {
            return now - looked > LOOK_AGAIN.toNanos();
        }

        boolean isNothingSince(Changes earlier) {
            return looked == earlier.looked || (counters != null && counters.equals(earlier.counters));
        }
    }

    KnownNames(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * The names of a shard's schema. Asks the server on this connection, once if nothing is changed there; once a minute it is asked
     * whether that is so.
     *
     * @param isFailed whether the connection's transaction has failed, so that it cannot ask
     */
    ShardNames of(int shard, Connection pooled, boolean isFailed) throws SQLException {
        Names known = names.get(shard);
        Changes now = changes;
        if (now == null || now.isOld(nanoTime.getAsLong())) {
            if (isFailed) {
                return ShardNames.UNKNOWN;
            }
            now = readChanges(pooled);
            changes = now;
        }
        if (known != null && now.isNothingSince(known.before)) {
            return known.names;
        }
        if (isFailed) {
            return ShardNames.UNKNOWN;
        }
        ShardNames asked = ShardNames.ask(pooled, Sharding.schema(shard));
        names.put(shard, new Names(asked, now));
        return asked;
    }

    private Changes readChanges(Connection pooled) throws SQLException {
        long now = nanoTime.getAsLong();
        try (Statement statement = pooled.createStatement();
                ResultSet row = statement.executeQuery(CHANGES)) {
            row.next();
            return new Changes(row.getString(1), now);
        }
    }
}
