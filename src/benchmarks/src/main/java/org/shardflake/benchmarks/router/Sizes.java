/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.util.Collections;
import java.util.List;
import org.shardflake.benchmarks.report.Sizing;

/** How much is measured, by system properties {@code router.*}. */
record Sizes(
        int shards, int rows, int poolSize, int warmUps, int rounds, int millis, int starts, List<Integer> threads) {

    static Sizes of(Sizing sizing) {
        return new Sizes(
                sizing.number("shards", 2000),
                sizing.number("rows", 100),
                sizing.number("pool", 16),
                sizing.number("warmups", 2),
                sizing.number("rounds", 5),
                sizing.number("millis", 1000),
                sizing.number("starts", 5),
                sizing.numbers("threads", List.of(1, 16)));
    }

    int mostThreads() {
        return Collections.max(threads);
    }
}
