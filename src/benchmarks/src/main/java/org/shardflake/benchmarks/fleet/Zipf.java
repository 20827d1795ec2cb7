/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

/** Zipf's law: the shard of rank r, counted from 1, has a load in proportion to r to the power of -exponent. */
final class Zipf {

    private Zipf() {}

    /** The generalised harmonic number: the sum of r to the power of -exponent for r of 1..n. */
    static double harmonic(int n, double exponent) {
        double sum = 0;
        for (int rank = n; rank >= 1; rank--) {
            sum += Math.pow(rank, -exponent);
        }
        return sum;
    }

    /** Each shard's share of the whole load, the hottest first. */
    static double[] shares(int shards, double exponent) {
        double harmonic = harmonic(shards, exponent);
        double[] shares = new double[shards];
        for (int i = 0; i < shards; i++) {
            shares[i] = Math.pow(i + 1, -exponent) / harmonic;
        }
        return shares;
    }

    /** The hottest shard's share. */
    static double hottest(int shards, double exponent) {
        return 1 / harmonic(shards, exponent);
    }
}
