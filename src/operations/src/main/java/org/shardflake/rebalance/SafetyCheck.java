/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static org.shardflake.CliCommand.DOCTOR;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.Move;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.server.ServerUrl;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.PlacementState;
import org.shardflake.watch.Watch;

/** Checks that no one else is moving shards, and that all shards are where the map has them. Not thread-safe. */
final class SafetyCheck implements AutoCloseable {

    private static final Advice DOCTOR =
            Advice.of("%s looks for the cause; then run the command again", CliCommand.DOCTOR);

    private final List<String> told = new ArrayList<>();
    private final Watch watch;

    SafetyCheck(ServerUrl catalog, Function<Server, ServerUrl> urls) {
        watch = new Watch(catalog, urls, told::add);
    }

    /**
     * Runs the checks, and returns the shard map.
     *
     * @throws RebalanceException if anything is not as it should be
     */
    ShardMap require() throws InterruptedException {
        InstallationSnapshot snapshot = watch.look();
        if (!snapshot.catalogAnswers() || snapshot.catalogIsStandby()) {
            throw new RebalanceException(Kind.FAILURE, "the catalog cannot be asked: " + lastTold(), DOCTOR);
        }
        snapshot.moves().forEach(SafetyCheck::refuse);
        for (Server server : snapshot.map().servers()) {
            require(server, snapshot);
        }
        return snapshot.map();
    }

    private String lastTold() {
        return told.isEmpty() ? "it does not answer" : told.get(told.size() - 1);
    }

    private static void refuse(Move move) {
        throw new RebalanceException(
                Kind.PRECONDITION,
                "move %s of %s %s is in progress, and does not belong to this run"
                        .formatted(move.id(), Plural.shards(move.shardSet()), MoveRequest.of(move)),
                Advice.of("wait for its end; if its command no longer runs, %s finishes it", command(move)));
    }

    private static CliCommand command(Move move) {
        return switch (move.phase()) {
            case PREPARING, COPYING, CATCHING_UP, FOLLOWING -> CliCommand.MOVE_RUN.with(move.shardSet(), move.target());
            case COMPLETING, CANCELLING -> move.nextCommand();
        };
    }

    private void require(Server server, InstallationSnapshot snapshot) {
        if (!snapshot.servers().containsKey(server.name())) {
            throw new RebalanceException(
                    Kind.FAILURE, "server %s cannot be asked: %s".formatted(server.name(), lastTold()), DOCTOR);
        }
        ShardSet misplaced = snapshot.misplaced(server);
        if (!misplaced.isEmpty()) {
            throw new RebalanceException(
                    Kind.PRECONDITION,
                    "%s writes on %s, which the map gives to %s"
                            .formatted(
                                    Plural.shards(misplaced, "takes", "take"),
                                    server.name(),
                                    Plural.choose(misplaced, "another server", "other servers")),
                    DOCTOR);
        }
        refuse(server, snapshot, PlacementState.CLOSED, "refuses writes", "refuse writes");
        refuse(
                server,
                snapshot,
                PlacementState.BACK,
                "has come back to an old database, and refuses writes",
                "have come back to an old database, and refuse writes");
        refuse(server, snapshot, PlacementState.MISSING, "is missing", "are missing");
    }

    private static void refuse(
            Server server, InstallationSnapshot snapshot, PlacementState state, String one, String many) {
        ShardSet such = ShardSet.of(snapshot.map().shards(server).stream()
                .filter(shard -> snapshot.state(shard) == state)
                .toArray());
        if (!such.isEmpty()) {
            throw new RebalanceException(
                    Kind.PRECONDITION, "%s on %s".formatted(Plural.shards(such, one, many), server.name()), DOCTOR);
        }
    }

    /**
     * Requires that the map has changed by these moves only.
     *
     * @throws RebalanceException if someone else has changed it
     */
    static void requireOnly(List<MoveRequest> moves, ShardMap before, ShardMap now) {
        boolean sameServers = before.servers().equals(now.servers());
        ShardSet others = ShardSet.of(IntStream.range(0, before.sharding().shardCount())
                .filter(shard -> !isAsExpected(shard, moves, before, now))
                .toArray());
        if (!sameServers || !others.isEmpty()) {
            throw new RebalanceException(
                    Kind.PRECONDITION,
                    "someone else has changed the shard map: %s"
                            .formatted(
                                    sameServers ? "placed " + Plural.shards(others) : "its servers are " + names(now)),
                    Advice.of("%s shows who it was; then run the command again", CliCommand.MAP_HISTORY));
        }
    }

    private static String names(ShardMap map) {
        return map.servers().stream().map(Server::name).collect(Collectors.joining(", "));
    }

    private static boolean isAsExpected(int shard, List<MoveRequest> moves, ShardMap before, ShardMap now) {
        return moves.stream()
                .filter(move -> move.shards().contains(shard))
                .findFirst()
                .map(move -> now.server(shard).name().equals(move.target())
                        && now.placement(shard).epoch()
                                == before.placement(shard).epoch() + 1)
                .orElse(before.placement(shard).equals(now.placement(shard)));
    }

    @Override
    public void close() {
        watch.close();
    }
}
