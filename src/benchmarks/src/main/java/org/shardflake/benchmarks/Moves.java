/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import org.shardflake.benchmarks.moves.MoveComparison;

/**
 * Moves beside dump and restore, the pauses of 200 cutovers under load, and how a move's time grows with bytes, shards and servers.
 * Writes {@code moves.md} with its charts. {@code -Dmoves.rounds=1 -Dmoves.megabytes=20 -Dmoves.shards=5 -Dmoves.cutovers=20
 * -Dmoves.group=10 -Dmoves.growthRounds=1 -Dmoves.sizes=1,10 -Dmoves.databases=20,50 -Dmoves.moved=1,10 -Dmoves.servers=2,3
 * -Dmoves.drainedShards=10 -Dmoves.drainedMegabytes=10} makes it short.
 */
public final class Moves {

    private Moves() {}

    public static void main(String[] arguments) throws Exception {
        MoveComparison.run();
    }
}
