/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.map;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;

/** Finds the servers that have the shards for which an import changes the placement without moving rows. */
final class PlacedCopies {

    private final CatalogMixin catalog;
    private final PrintWriter err;
    private final Map<String, ShardSet> present = new LinkedHashMap<>();
    private final Map<String, Map<Integer, Long>> remembered = new LinkedHashMap<>();

    /**
     * @param err receives servers that cannot be reached
     */
    PlacedCopies(CatalogMixin catalog, PrintWriter err) {
        this.catalog = catalog;
        this.err = err;
    }

    /**
     * Refuses a map that puts a shard on a server without it while another server has it, or raises an epoch that the shard's server has not
     * recorded.
     *
     * @throws CliException if there is such a shard or epoch
     */
    void check(ShardMap current, ShardMap wanted, List<MapDifference.Move> moves) {
        Map<String, Server> servers = new LinkedHashMap<>();
        current.servers().forEach(server -> servers.put(server.name(), server));
        wanted.servers().forEach(server -> servers.put(server.name(), server));
        servers.values().forEach(this::ask);
        for (MapDifference.Move move : moves) {
            ShardSet there = present.get(move.to());
            if (there != null) {
                check(move, there);
            }
        }
        for (int shard = 0; shard < wanted.sharding().shardCount(); shard++) {
            checkEpoch(current.placement(shard), wanted.placement(shard));
        }
    }

    private void checkEpoch(ShardPlacement current, ShardPlacement wanted) {
        Long epoch = remembered.getOrDefault(wanted.server().name(), Map.of()).get(wanted.shard());
        if (wanted.epoch() > current.epoch() && !Long.valueOf(wanted.epoch()).equals(epoch)) {
            throw new CliException(
                    Kind.PRECONDITION,
                    "the map to import has epoch %s of shard %s, but the catalog has %s, and %s does not know it; leave epochs as they were exported"
                            .formatted(
                                    wanted.epoch(),
                                    wanted.shard(),
                                    current.epoch(),
                                    wanted.server().name()),
                    null);
        }
    }

    private void check(MapDifference.Move move, ShardSet there) {
        for (Map.Entry<String, ShardSet> other : present.entrySet()) {
            ShardSet only = ShardSet.of(move.shards().stream()
                    .filter(shard -> !there.contains(shard) && other.getValue().contains(shard))
                    .toArray());
            if (!only.isEmpty()) {
                throw new CliException(
                        Kind.PRECONDITION,
                        "%2$s on %3$s, not on %1$s: placing %4$s on %1$s would hide rows"
                                .formatted(
                                        move.to(),
                                        Plural.shards(only, "is", "are"),
                                        other.getKey(),
                                        Plural.choose(only, "it", "them")),
                        Advice.of("move the rows as well: %s", CliCommand.MOVE_RUN.with(only, move.to())));
            }
        }
    }

    private void ask(Server server) {
        try (Connection connection = ServerAccess.connect(catalog.urlOf(server))) {
            present.put(
                    server.name(),
                    ShardSet.of(Sql.list(
                            connection,
                            "SELECT right(nspname, 4)::integer FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$' AND right(nspname, 4) < '8192'",
                            row -> row.getInt(1))));
            if (Sql.isTrue(connection, "SELECT to_regclass('shardflake.placement') IS NOT NULL")) {
                Map<Integer, Long> epochs = new HashMap<>();
                Sql.list(
                        connection,
                        "SELECT shard, epoch FROM shardflake.placement WHERE here",
                        row -> epochs.put(row.getInt(1), row.getLong(2)));
                remembered.put(server.name(), epochs);
            }
        } catch (SQLException | ShardflakeException e) {
            err.printf(
                    "%s could not be asked which shards it has: %s%n",
                    server.name(), Objects.requireNonNullElse(e.getMessage(), "no answer"));
        }
    }
}
