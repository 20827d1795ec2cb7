/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.PriorityQueue;
import java.util.Random;

/**
 * A pool of connections, request by request.
 *
 * @param waits part of the requests that had to wait
 * @param meanWait of all requests, in units of the mean time that one holds a connection
 */
record Pool(double waits, double meanWait) {

    /** Lets requests come at random to a pool that begins idle; the first tenth is not counted. */
    static Pool simulate(double load, int connections, int requests, Random random) {
        PriorityQueue<Double> freeAt = new PriorityQueue<>();
        for (int i = 0; i < connections; i++) {
            freeAt.add(0.0);
        }
        int warmUp = requests / 10;
        int waited = 0;
        double totalWait = 0;
        double now = 0;
        for (int request = -warmUp; request < requests; request++) {
            now += exponential(random) / load;
            double begin = Math.max(now, freeAt.remove());
            freeAt.add(begin + exponential(random));
            if (request >= 0) {
                waited += begin > now ? 1 : 0;
                totalWait += begin - now;
            }
        }
        return new Pool((double) waited / requests, totalWait / requests);
    }

    private static double exponential(Random random) {
        return -Math.log(1 - random.nextDouble());
    }
}
