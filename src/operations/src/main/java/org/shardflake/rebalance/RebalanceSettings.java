/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.Set;
import org.shardflake.ShardSet;

/**
 * The constraints of a plan.
 *
 * @param pinned shards that stay where they are
 * @param recent shards that moved not long ago; in a plan by rate they stay as long as their server is within twice the threshold
 * @param drained servers to take every shard off; if there are any, no other shard moves
 * @param excluded servers that must not receive shards
 * @param maxMoves how many shards the plan may move
 * @param threshold percent of the mean: a server within it is left alone
 * @param improvement minimum gain of a move that leaves its target more loaded than its source, in percent of the load that it adds
 *     to the target
 */
public record RebalanceSettings(
        RebalanceBy by,
        ShardSet pinned,
        ShardSet recent,
        Set<String> drained,
        Set<String> excluded,
        int maxMoves,
        int threshold,
        int improvement) {

    public static final int DEFAULT_THRESHOLD = 10;
    public static final int DEFAULT_IMPROVEMENT = 50;

    public RebalanceSettings {
        drained = Set.copyOf(drained);
        excluded = Set.copyOf(excluded);
        atLeast("max-moves", maxMoves, 1);
        atLeast("threshold", threshold, 0);
        atLeast("improvement", improvement, 0);
    }

    private static void atLeast(String name, int value, int min) {
        if (value < min) {
            throw new IllegalArgumentException("%s is %s, allowed: %s or more".formatted(name, value, min));
        }
    }

    /** Settings without pinned, drained or excluded shards, and with any number of moves. */
    public static RebalanceSettings by(RebalanceBy by) {
        return new RebalanceSettings(
                by,
                ShardSet.of(),
                ShardSet.of(),
                Set.of(),
                Set.of(),
                Integer.MAX_VALUE,
                DEFAULT_THRESHOLD,
                DEFAULT_IMPROVEMENT);
    }

    RebalanceSettings pinning(ShardSet shards) {
        return new RebalanceSettings(by, shards, recent, drained, excluded, maxMoves, threshold, improvement);
    }

    RebalanceSettings resting(ShardSet shards) {
        return new RebalanceSettings(by, pinned, shards, drained, excluded, maxMoves, threshold, improvement);
    }

    RebalanceSettings draining(String... servers) {
        return new RebalanceSettings(by, pinned, recent, Set.of(servers), excluded, maxMoves, threshold, improvement);
    }

    RebalanceSettings excluding(String... servers) {
        return new RebalanceSettings(by, pinned, recent, drained, Set.of(servers), maxMoves, threshold, improvement);
    }

    RebalanceSettings moving(int atMost) {
        return new RebalanceSettings(by, pinned, recent, drained, excluded, atMost, threshold, improvement);
    }

    RebalanceSettings within(int percent) {
        return new RebalanceSettings(by, pinned, recent, drained, excluded, maxMoves, percent, improvement);
    }
}
