/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

/** When a fleet that cannot have more shards has as many servers as shards, or as few shards on each as it bears. */
record Capacity(int shards, double bytesPerServer) {

    /** Years until the servers have this many shards each in the mean, when data grows by this part a year. */
    double years(double bytes, double growth, int shardsPerServer) {
        double servers = (double) shards / shardsPerServer;
        return Math.log(servers * bytesPerServer / bytes) / Math.log1p(growth);
    }

    /** The same year by year: whole years after which more servers would be needed than that. */
    int simulated(double bytes, double growth, int shardsPerServer) {
        int year = 0;
        double now = bytes;
        while (Math.ceil(now / bytesPerServer) <= (double) shards / shardsPerServer) {
            year++;
            now *= 1 + growth;
        }
        return year;
    }
}
