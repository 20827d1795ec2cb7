/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

/** Equally loaded shards, each thrown onto a server at random. */
record BallsInBins(int shards, int servers) {

    double mean() {
        return (double) shards / servers;
    }

    /**
     * Expected number of shards of the fullest server, divided by the mean. The servers are taken to be independent, each with
     * a binomial number of shards.
     */
    double imbalance() {
        double expected = 0;
        double cumulative = 0;
        double logarithm = shards * Math.log1p(-1.0 / servers);
        for (int most = 0; most < shards; most++) {
            cumulative += Math.exp(logarithm);
            double someHasMore = -Math.expm1(servers * Math.log(Math.min(1, cumulative)));
            expected += someHasMore;
            if (most > mean() && someHasMore < 1e-12) {
                break;
            }
            logarithm += Math.log((shards - most) / ((most + 1.0) * (servers - 1)));
        }
        return expected / mean();
    }

    /** The same by the rule of thumb, for many shards on each server. */
    double roughImbalance() {
        return 1 + Math.sqrt(2 * Math.log(servers) / mean());
    }

    /** Shards that each server needs for an expected imbalance of no more than this. */
    static int shardsPerServer(int servers, double imbalance) {
        int enough = 1;
        while (new BallsInBins(enough * servers, servers).imbalance() > imbalance) {
            enough *= 2;
        }
        int tooFew = enough / 2;
        while (enough - tooFew > 1) {
            int middle = (enough + tooFew) / 2;
            if (new BallsInBins(middle * servers, servers).imbalance() > imbalance) {
                tooFew = middle;
            } else {
                enough = middle;
            }
        }
        return enough;
    }
}
