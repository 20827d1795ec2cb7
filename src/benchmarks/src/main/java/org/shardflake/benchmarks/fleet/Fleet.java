/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.Arrays;
import java.util.Random;
import org.shardflake.Spread;

/** Shards on servers, and each shard's share of the load. Immutable. */
final class Fleet {

    private final double[] shares;
    private final int[] serverOfShard;
    private final int servers;

    private Fleet(double[] shares, int[] serverOfShard, int servers) {
        this.shares = shares;
        this.serverOfShard = serverOfShard;
        this.servers = servers;
    }

    /** Shard s on server s mod servers, as {@link Spread#ROUND_ROBIN} has it: as many shards on each. */
    static Fleet roundRobin(double[] shares, int servers) {
        int[] serverOfShard = new int[shares.length];
        Arrays.setAll(serverOfShard, shard -> shard % servers);
        return new Fleet(shares.clone(), serverOfShard, servers);
    }

    /** Each shard on a server drawn for it alone, as hashing would: not as many shards on each. */
    static Fleet atRandom(double[] shares, int servers, Random random) {
        int[] serverOfShard = new int[shares.length];
        Arrays.setAll(serverOfShard, shard -> random.nextInt(servers));
        return new Fleet(shares.clone(), serverOfShard, servers);
    }

    /** The same values in random order. */
    static double[] shuffled(double[] values, Random random) {
        double[] shuffled = values.clone();
        for (int i = shuffled.length - 1; i > 0; i--) {
            int other = random.nextInt(i + 1);
            double value = shuffled[i];
            shuffled[i] = shuffled[other];
            shuffled[other] = value;
        }
        return shuffled;
    }

    Fleet with(int[] placement, int serverCount) {
        return new Fleet(shares, placement.clone(), serverCount);
    }

    int servers() {
        return servers;
    }

    int shards() {
        return shares.length;
    }

    int server(int shard) {
        return serverOfShard[shard];
    }

    double share(int shard) {
        return shares[shard];
    }

    /** The server that has the hottest shard, as its share of the whole load. */
    double loadBesideHottest() {
        int hottest = 0;
        for (int shard = 1; shard < shares.length; shard++) {
            hottest = shares[shard] > shares[hottest] ? shard : hottest;
        }
        return loads()[serverOfShard[hottest]];
    }

    /** Each server's share of the whole load. */
    double[] loads() {
        double[] loads = new double[servers];
        for (int shard = 0; shard < shares.length; shard++) {
            loads[serverOfShard[shard]] += shares[shard];
        }
        return loads;
    }

    /** The load of the most loaded server, divided by the mean. */
    double imbalance() {
        double[] loads = loads();
        return Arrays.stream(loads).max().orElseThrow()
                * servers
                / Arrays.stream(loads).sum();
    }
}
