/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.Arrays;
import java.util.Random;

/**
 * Uids with a load by Zipf's law, each in a shard drawn at random.
 *
 * @param hottestUid its share of the whole load
 * @param hottestShard its share of the whole load
 */
record Uids(int uids, double exponent, double hottestUid, double hottestShard) {

    static Uids simulate(int uids, double exponent, Random random) {
        double[] loads = new double[Setting.SHARDS];
        double harmonic = 0;
        for (int rank = uids; rank >= 1; rank--) {
            double load = Math.pow(rank, -exponent);
            harmonic += load;
            loads[random.nextInt(loads.length)] += load;
        }
        return new Uids(uids, exponent, 1 / harmonic, Arrays.stream(loads).max().orElseThrow() / harmonic);
    }

    /** Expected share of the shard that has the hottest uid: all others spread over all shards alike. */
    double expected() {
        return hottestUid + (1 - hottestUid) / Setting.SHARDS;
    }

    /** The hottest shard, in units of the mean shard. */
    double hottestOverMean() {
        return hottestShard * Setting.SHARDS;
    }
}
