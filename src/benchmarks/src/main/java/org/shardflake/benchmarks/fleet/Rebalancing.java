/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.IntToLongFunction;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.Sharding;
import org.shardflake.rebalance.RebalanceBy;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanner;
import org.shardflake.rebalance.RebalanceSettings;

/**
 * What {@code shardflake rebalance plan} would do with a fleet: its own planner is asked.
 *
 * @param after the fleet when the plan is carried out
 * @param moves each from one server to another, with one shard or more
 */
record Rebalancing(Fleet after, List<Move> moves) {

    Rebalancing {
        moves = List.copyOf(moves);
    }

    /** Shards that go from one server to another, numbered from 0, together. */
    record Move(int from, int to, int shards, long bytes) {}

    /** Evens out the servers by bytes, with the planner's own thresholds. */
    static Rebalancing of(Fleet fleet, IntToLongFunction bytes) {
        return of(fleet, bytes, RebalanceSettings.by(RebalanceBy.BYTES));
    }

    /** Takes every shard off a server. */
    static Rebalancing draining(int server, Fleet fleet, IntToLongFunction bytes) {
        RebalanceSettings usual = RebalanceSettings.by(RebalanceBy.BYTES);
        return of(
                fleet,
                bytes,
                new RebalanceSettings(
                        usual.by(),
                        usual.pinned(),
                        Set.of(name(server)),
                        usual.excluded(),
                        usual.maxMoves(),
                        usual.threshold(),
                        usual.improvement()));
    }

    private static Rebalancing of(Fleet fleet, IntToLongFunction bytes, RebalanceSettings settings) {
        RebalancePlan plan = RebalancePlanner.plan(map(fleet), bytes, settings);
        int[] placement = new int[fleet.shards()];
        for (int shard = 0; shard < placement.length; shard++) {
            placement[shard] = fleet.server(shard);
        }
        List<Move> moves = new ArrayList<>();
        for (RebalancePlan.Move move : plan.moves()) {
            int to = number(move.to());
            move.shards().stream().forEach(shard -> placement[shard] = to);
            moves.add(new Move(
                    number(move.from()), to, move.shards().size(), Objects.requireNonNull(move.bytes(), "by bytes")));
        }
        return new Rebalancing(fleet.with(placement, fleet.servers()), moves);
    }

    private static ShardMap map(Fleet fleet) {
        List<Server> servers = new ArrayList<>();
        for (int server = 0; server < fleet.servers(); server++) {
            servers.add(new Server(name(server), "postgresql://app@%s/app".formatted(name(server))));
        }
        return ShardMap.of(
                1,
                new Sharding(fleet.shards()),
                IdLayout.DEFAULT,
                servers,
                shard -> new ShardPlacement(shard, servers.get(fleet.server(shard)), 1));
    }

    private static String name(int server) {
        return "db%04d".formatted(server);
    }

    private static int number(String name) {
        return Integer.parseInt(name.substring(2));
    }

    int shards() {
        return moves.stream().mapToInt(Move::shards).sum();
    }

    long bytes() {
        return moves.stream().mapToLong(Move::bytes).sum();
    }
}
