/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import org.shardflake.benchmarks.ids.IdComparison;

/**
 * Every scheme for ids side by side: what an id costs, what it does to a table, whether it ever comes twice. Writes {@code ids.md}
 * with its charts. {@code -Dids.rows=20000 -Dids.drawn=64000 -Dids.ids=20000 -Dids.tickets=800 -Dids.rounds=2 -Dids.fastRounds=2
 * -Dids.turn=50 -Dids.clock=50} makes it short.
 */
public final class IdSchemes {

    private IdSchemes() {}

    public static void main(String[] args) throws Exception {
        IdComparison.run();
    }
}
