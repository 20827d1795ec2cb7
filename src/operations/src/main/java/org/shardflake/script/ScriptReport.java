/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.script;

import java.util.List;
import org.shardflake.ShardSet;

/**
 * The outcome of running statements in many shards.
 *
 * @param run the run's name
 * @param done the shards in which they were run now
 * @param before the shards in which they had been run before
 * @param rows how many rows they changed now, as PostgreSQL counts
 * @param failures the shards in which they failed, which are unchanged
 * @param left the shards in which they were not tried
 */
public record ScriptReport(
        String run, ShardSet done, ShardSet before, long rows, List<Failure> failures, ShardSet left) {

    public ScriptReport {
        failures = List.copyOf(failures);
    }

    /** A shard in which the statements failed, and the error. */
    public record Failure(int shard, String server, String error) {}

    /** Whether the statements have run in all shards. */
    public boolean isComplete() {
        return failures.isEmpty() && left.isEmpty();
    }
}
