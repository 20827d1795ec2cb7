/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import org.shardflake.ShardSet;

/**
 * The shards that have come back to the old database.
 *
 * @param now those of this run, in order
 * @param over those that have left it and not come back
 */
public record ReturnReport(List<SliceReport> now, ShardSet over) {

    public ReturnReport {
        now = List.copyOf(now);
    }
}
