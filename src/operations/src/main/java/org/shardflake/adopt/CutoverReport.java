/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import org.shardflake.ShardSet;

/**
 * The shards that have left the old database.
 *
 * @param now those of this run, in order
 * @param remaining those that are still there; if none are, the adoption is finished
 */
public record CutoverReport(List<SliceReport> now, ShardSet remaining) {

    public CutoverReport {
        now = List.copyOf(now);
    }
}
