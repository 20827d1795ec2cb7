/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntPredicate;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * Checks that shards to be created are really new: an empty shard in addition to one with rows, or in place of a lost one, would hide the loss.
 */
final class NewShards {

    private final Map<String, ServerUrl> servers;
    private final ShardSet recreate;
    private final Map<String, Known> known = new HashMap<>();

    /**
     * @param servers all of the shard map, by name
     * @param recreate shards whose rows are known to be lost
     */
    NewShards(Map<String, ServerUrl> servers, ShardSet recreate) {
        this.servers = servers;
        this.recreate = recreate;
    }

    /**
     * The shards that a server has, and those that it remembers.
     *
     * @param present the shards it has
     * @param remembered shards that a move brought or took
     */
    private record Known(ShardSet present, ShardSet remembered) {

        static Known read(ServerUrl url) throws SQLException {
            try (Connection connection = url.connect("shardflake schema deploy")) {
                boolean remembers = Sql.isTrue(connection, "SELECT to_regclass('shardflake.placement') IS NOT NULL");
                return new Known(
                        ShardSet.of(Sql.list(
                                connection,
                                "SELECT right(nspname, 4)::integer FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$' AND right(nspname, 4) < '8192'",
                                row -> row.getInt(1))),
                        remembers
                                ? ShardSet.of(Sql.list(
                                        connection, "SELECT shard FROM shardflake.placement", row -> row.getInt(1)))
                                : ShardSet.of());
            }
        }
    }

    /**
     * @param missing shards to be created on a server
     * @param gone those of them whose history the server has
     * @throws DeployRefusedException if one of them must not be created
     */
    void check(String server, ShardSet missing, ShardSet gone) {
        if (missing.isEmpty()) {
            return;
        }
        List<Integer> before = new ArrayList<>(gone.stream().boxed().toList());
        for (String other : servers.keySet()) {
            Known its = known.computeIfAbsent(other, name -> ask(server, missing, name));
            ShardSet there = filter(missing, its.present()::contains);
            if (!there.isEmpty() && !other.equals(server)) {
                throw new DeployRefusedException(
                        "%s not on %s, and %s has %s. Empty shards would hide rows. No shard was changed"
                                .formatted(
                                        Plural.shards(there, "is", "are"),
                                        server,
                                        other,
                                        Plural.choose(there, "it", "them")),
                        Advice.of("see %s", CliCommand.DOCTOR));
            }
            filter(missing, its.remembered()::contains).stream().forEach(before::add);
        }
        ShardSet lost = filter(ShardSet.of(before), shard -> !recreate.contains(shard));
        if (!lost.isEmpty()) {
            throw new DeployRefusedException(
                    "%s deployed before, and no server has %s. No shard was changed"
                            .formatted(Plural.shards(lost, "was", "were"), Plural.choose(lost, "it", "them")),
                    Advice.of(
                            "restore a server that has their rows, or accept that they are lost with %s",
                            CliCommand.SCHEMA_RECREATE.with(lost)));
        }
    }

    /** Whether a shard on any server has taken over the history of an old database. */
    boolean isHistoryTakenOver() {
        return servers.values().stream().anyMatch(NewShards::hasHistoryTakenOver);
    }

    private static boolean hasHistoryTakenOver(ServerUrl url) {
        return Sql.translating(() -> Sql.with(
                url.connect("shardflake schema deploy"),
                connection -> ShardHistory.exists(connection)
                        && ShardHistory.read(connection).values().stream().anyMatch(ServerDeployment::hasTakenOver)));
    }

    private Known ask(String server, ShardSet missing, String other) {
        try {
            return Known.read(Objects.requireNonNull(servers.get(other)));
        } catch (SQLException e) {
            throw new DeployRefusedException(
                    "%s not on %s, and %s may have %s, but cannot be asked: %s. No shard was changed"
                            .formatted(
                                    Plural.shards(missing, "is", "are"),
                                    server,
                                    other,
                                    Plural.choose(missing, "it", "them"),
                                    Sql.message(e)),
                    Advice.of(
                            "make it answer, or, if it is gone for good, place its shards on others with %s and take it out with %s",
                            CliCommand.MAP_IMPORT, CliCommand.SERVER_REMOVE.with(other)));
        }
    }

    private static ShardSet filter(ShardSet shards, IntPredicate which) {
        return ShardSet.of(shards.stream().filter(which).toArray());
    }
}
