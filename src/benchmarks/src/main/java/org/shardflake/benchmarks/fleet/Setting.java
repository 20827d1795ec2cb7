/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.List;
import java.util.Random;

/**
 * What a run simulates, and how often.
 *
 * @param seed of all random numbers: the same gives the same page
 * @param trials random placements for one figure
 * @param plans placements that are also planned for, which takes longer
 * @param events of one simulated queue, such as transactions
 */
record Setting(long seed, int trials, int plans, int events) {

    /** As many shards as an id has room for. */
    static final int SHARDS = 8192;

    static final List<Integer> SERVERS = List.of(64, 128, 256, 512);
    static final List<Double> EXPONENTS = List.of(0.6, 0.8, 1.0, 1.2);

    /** Of the whole fleet: 2 TB a server on the smallest, 0.25 TB on the largest. */
    static final long BYTES = 128_000_000_000_000L;

    static Setting full() {
        return new Setting(20250101, 101, 3, 1_000_000);
    }

    /** Random numbers of one part's own, so that a change in one leaves the others as they are. */
    Random random(String part) {
        return new Random(31 * seed + part.hashCode());
    }
}
