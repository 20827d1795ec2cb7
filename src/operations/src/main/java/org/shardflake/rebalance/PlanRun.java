/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.MovePhase;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.move.parallel.ParallelMoves;
import org.shardflake.rebalance.RebalancePlan.Move;

/**
 * Carries out a plan, several moves at a time.
 *
 * <p>The shard map says what is done: a shard on its target needs nothing more. So an interrupted plan continues when it is run
 * again.
 */
public final class PlanRun {

    private final RebalancePlan plan;
    private final ShardCatalog catalog;

    public PlanRun(RebalancePlan plan, ShardCatalog catalog) {
        this.plan = plan;
        this.catalog = catalog;
    }

    /**
     * The unfinished moves, each with the shards that are still on its source.
     *
     * @throws RebalanceRefusedException if the shard map has no such servers or shards, or a shard is neither on its source nor
     *     on its target
     */
    public List<Move> pending() {
        ShardMap map = catalog.load();
        return plan.moves().stream()
                .map(move -> rest(move, map))
                .filter(move -> !move.shards().isEmpty())
                .toList();
    }

    /**
     * Finishes the plan's interrupted moves, and then carries out the rest, as many at a time as allowed.
     *
     * @return how many shards were moved
     * @throws RebalanceRefusedException as {@link #pending()}
     */
    public int run(ParallelMoves moves) throws InterruptedException {
        pending(); // Refuses a plan that is not of this map.
        List<MoveRequest> begun = moves.unfinished().stream()
                .filter(move -> move.phase() != MovePhase.CANCELLING
                        && plan.moves().stream().anyMatch(planned -> isPartOf(move, planned)))
                .map(MoveRequest::of)
                .toList();
        // They have slots and workers, which the checks of the others would not find free.
        moves.run(begun);
        List<MoveRequest> rest = pending().stream()
                .map(move -> new MoveRequest(move.from(), move.to(), move.shards()))
                .toList();
        moves.run(rest);
        requireDone();
        return Stream.concat(begun.stream(), rest.stream())
                .mapToInt(request -> request.shards().size())
                .sum();
    }

    private static boolean isPartOf(org.shardflake.move.Move begun, Move planned) {
        return begun.source().equals(planned.from())
                && begun.target().equals(planned.to())
                && begun.shardSet().stream().allMatch(planned.shards()::contains);
    }

    private void requireDone() {
        for (Move left : pending()) {
            throw new RebalanceException(
                    "the move from %s to %s ended, but the shard map still has %s on %s"
                            .formatted(left.from(), left.to(), Plural.shards(left.shards()), left.from()),
                    null);
        }
    }

    /** The part of a move that is left to do. */
    private static Move rest(Move move, ShardMap map) {
        requireServer(move.from(), map);
        requireServer(move.to(), map);
        ShardSet left = ShardSet.of(move.shards().stream()
                .filter(shard -> isOnSource(shard, move, map))
                .toArray());
        Long bytes = left.equals(move.shards()) ? move.bytes() : null;
        return new Move(move.from(), move.to(), left, bytes, move.fromLoad(), move.toLoad(), move.reason());
    }

    private static boolean isOnSource(int shard, Move move, ShardMap map) {
        if (shard >= map.sharding().shardCount()) {
            throw new RebalanceRefusedException("the plan moves shard %s, but the shard map has 0..%s; make a new plan"
                    .formatted(shard, map.sharding().shardCount() - 1));
        }
        String server = map.server(shard).name();
        if (!server.equals(move.from()) && !server.equals(move.to())) {
            throw new RebalanceRefusedException(
                    "the plan moves shard %s from %s to %s, but it is on %s; make a new plan"
                            .formatted(shard, move.from(), move.to(), server));
        }
        return server.equals(move.from());
    }

    private static void requireServer(String name, ShardMap map) {
        if (map.servers().stream().noneMatch(server -> server.name().equals(name))) {
            throw new RebalanceRefusedException(
                    "the plan names server %s, which is not in the shard map; its servers are %s; make a new plan"
                            .formatted(
                                    name,
                                    map.servers().stream().map(Server::name).collect(Collectors.joining(", "))));
        }
    }
}
