/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import org.shardflake.benchmarks.report.Sizing;

/**
 * How much is measured, by system properties {@code deploys.*}.
 *
 * @param shards in equal parts on all servers
 * @param sample how many schemas the loop is measured on
 */
record Sizes(int shards, int servers, int rounds, int sample) {

    static Sizes of(Sizing sizing) {
        int shards = sizing.number("shards", 2000);
        return new Sizes(
                shards,
                sizing.number("servers", 2),
                sizing.number("rounds", 5),
                Math.min(shards, sizing.number("sample", 100)));
    }

    @Override
    public String toString() {
        return "%,d shards on %d server%s".formatted(shards, servers, servers == 1 ? "" : "s");
    }
}
