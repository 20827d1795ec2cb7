/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.List;

/**
 * What a move takes.
 *
 * @param bytesPerSecond of a move on its way
 * @param secondsPerMove whatever its size: checks, replication made and removed
 * @param secondsPerShard to cut one over
 */
record MoveTime(double bytesPerSecond, double secondsPerMove, double secondsPerShard) {

    private static final double MEGA = 1e6;

    /** By the guide: 61.4 MB/s with both comparisons, two seconds for a move of 35 empty shards, 16 ms of pause. */
    static MoveTime measured() {
        return atRate(61.4 * MEGA);
    }

    static MoveTime atRate(double bytesPerSecond) {
        return new MoveTime(bytesPerSecond, 2, 0.016);
    }

    /** The part of a network's bandwidth that moves may take, as bytes per second. */
    static double ofNetwork(double gigabits, double part) {
        return gigabits * 1e9 / 8 * part;
    }

    double seconds(long bytes, int shards) {
        return secondsPerMove + bytes / bytesPerSecond + shards * secondsPerShard;
    }

    double seconds(Rebalancing.Move move) {
        return seconds(move.bytes(), move.shards());
    }

    /** One move after the other, as one {@code shardflake rebalance apply} makes them. */
    double inTurn(List<Rebalancing.Move> moves) {
        return moves.stream().mapToDouble(this::seconds).sum();
    }
}
