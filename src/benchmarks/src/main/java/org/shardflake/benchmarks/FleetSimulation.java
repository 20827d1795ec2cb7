/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import org.shardflake.benchmarks.fleet.FleetPage;

/**
 * A simulated fleet of 64 to 512 servers: imbalance, rebalancing, growing, draining, connections, and when an id layout runs
 * out. Needs no server; writes {@code fleet.md} with its charts.
 */
public final class FleetSimulation {

    private FleetSimulation() {}

    public static void main(String[] arguments) throws Exception {
        FleetPage.write();
    }
}
