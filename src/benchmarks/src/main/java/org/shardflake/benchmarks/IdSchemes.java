/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import org.shardflake.benchmarks.ids.IdComparison;

/**
 * Every scheme for ids side by side: what an id costs, what it does to a table, whether it ever comes twice. Writes {@code ids.md}
 * with its charts. {@code -Dids.rows=20000 -Dids.drawn=64000 -Dids.millis=100 -Dids.ids=20000 -Dids.tickets=1600} makes it short.
 */
public final class IdSchemes {

    private IdSchemes() {}

    public static void main(String[] args) throws Exception {
        IdComparison.run();
    }
}
