/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.Random;

/**
 * Whether one shard alone is hotter than a server can be. The shards' loads are independent and lognormal: their logarithms are
 * normal with this standard deviation.
 */
record HotShard(int shards, int servers, double sigma) {

    /**
     * The probability that some shard has more than the mean load of a server. The sum of all loads is taken to be its mean.
     */
    double probability() {
        double threshold = (Math.log((double) shards / servers) + sigma * sigma / 2) / sigma;
        return -Math.expm1(shards * Math.log1p(-Normal.exceeds(threshold)));
    }

    /** The same, counted in that many fleets drawn at random. */
    double simulated(int fleets, Random random) {
        int exceeded = 0;
        for (int fleet = 0; fleet < fleets; fleet++) {
            double sum = 0;
            double hottest = 0;
            for (int shard = 0; shard < shards; shard++) {
                double load = Math.exp(sigma * random.nextGaussian());
                sum += load;
                hottest = Math.max(hottest, load);
            }
            exceeded += hottest > sum / servers ? 1 : 0;
        }
        return (double) exceeded / fleets;
    }
}
