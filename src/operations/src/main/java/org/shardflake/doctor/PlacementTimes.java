/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * The times at which the shard map last gave shards to a server or took them away, from the catalog's history. What is wrong with a shard
 * because of its place was not wrong before.
 */
public final class PlacementTimes {

    private static final String LAST = """
            SELECT DISTINCT ON (shard) shard, changed_at FROM shardflake_catalog.history
             WHERE change = 'shard placed' AND ? IN (server, from_server)
               AND format('shard_%s', lpad(shard::text, 4, '0')) = ANY (?)
             ORDER BY shard, id DESC
            """;

    private final ShardSet shards;
    private final Map<Integer, Instant> times;

    private PlacementTimes(ShardSet shards, Map<Integer, Instant> times) {
        this.shards = shards;
        this.times = times;
    }

    /**
     * Reads the history.
     *
     * @throws org.shardflake.ShardflakeException if the catalog does not answer
     */
    public static PlacementTimes read(ServerUrl catalog, String server, ShardSet shards) {
        return Sql.translating(
                () -> Sql.with(catalog.connect("shardflake doctor"), connection -> read(connection, server, shards)));
    }

    private static PlacementTimes read(Connection connection, String server, ShardSet shards) throws SQLException {
        Map<Integer, Instant> times = new HashMap<>();
        Sql.list(
                connection,
                LAST,
                row -> times.put(
                        row.getInt(1), row.getObject(2, OffsetDateTime.class).toInstant()),
                server,
                shards);
        return new PlacementTimes(shards, times);
    }

    /** The earliest of the times; empty if one of the shards has been in its place from the beginning. */
    public Optional<Instant> first() {
        return times.size() < shards.size()
                ? Optional.empty()
                : times.values().stream().min(Comparator.naturalOrder());
    }

    /** The times in parentheses after a blank; empty if one of the shards has been in its place from the beginning. */
    String inText() {
        return times.size() < shards.size()
                ? ""
                : times.values().stream()
                        .max(Comparator.naturalOrder())
                        .map(last -> " (%s %s)"
                                .formatted(
                                        Plural.choose(shards, "since", "the last of them since"),
                                        last.truncatedTo(ChronoUnit.SECONDS)))
                        .orElse("");
    }
}
