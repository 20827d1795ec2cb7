/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;

/**
 * A plan of moves that balance the servers, or empty the drained ones.
 *
 * <p>The plan can stop anywhere, even within a move, and moves that balance can be left out or reordered: each shard that moves is an
 * improvement by itself.
 *
 * @param mapVersion the version of the shard map that the plan is based on
 * @param threshold percent of the mean: servers within it were left alone
 * @param servers all servers by name
 * @param moves in the order to make them
 */
public record RebalancePlan(
        long mapVersion, RebalanceBy by, int threshold, List<ServerChange> servers, List<Move> moves) {

    public RebalancePlan {
        servers = List.copyOf(servers);
        moves = List.copyOf(moves);
    }

    /** A value before and after the plan. */
    public record Change(long before, long after) {}

    /**
     * A server before and after the plan.
     *
     * @param bytes of its shards, unless the plan was made by count
     * @param rate rows written per second, if the plan was made by rate or both
     * @param load percent of the mean, relative to the server's capacity; of rate and bytes the one of which the server has
     *     more
     */
    public record ServerChange(
            String name,
            Change shards,
            @Nullable Change bytes,
            @Nullable Change rate,
            Change load) {}

    /**
     * A group of shards that goes from one server to another.
     *
     * @param bytes of these shards, which are copied; null if the plan was made by count
     * @param fromLoad of the source before and after this move, in percent of the mean
     * @param toLoad of the target before and after this move, in percent of the mean
     */
    public record Move(
            String from,
            String to,
            ShardSet shards,
            @Nullable Long bytes,
            Change fromLoad,
            Change toLoad,
            String reason) {}

    /** The bytes that the moves copy, if the plan has them. */
    public OptionalLong bytes() {
        return moves.stream().anyMatch(move -> move.bytes() == null)
                ? OptionalLong.empty()
                : OptionalLong.of(moves.stream()
                        .mapToLong(move -> Objects.requireNonNull(move.bytes()))
                        .sum());
    }

    /** The number of shards to move. */
    public int shardCount() {
        return moves.stream().mapToInt(move -> move.shards().size()).sum();
    }
}
