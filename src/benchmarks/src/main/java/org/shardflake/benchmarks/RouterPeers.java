/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import org.shardflake.benchmarks.router.RouterComparison;

/**
 * The router beside bare JDBC, Spring's AbstractRoutingDataSource and Apache ShardingSphere-JDBC, on 2000 shards of two
 * servers; writes {@code src/docs/benchmarks/router.md}.
 */
public final class RouterPeers {

    private RouterPeers() {}

    public static void main(String[] arguments) throws Exception {
        RouterComparison.run(RouterCosts.measure());
    }
}
