/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;

/**
 * The result of a deployment.
 *
 * @param changeSets how many changesets the changelog has
 * @param servers by server
 * @param failures shards that failed and are unchanged
 * @param differing shards whose schema, read from PostgreSQL afterwards, differs from that of most others with the same history
 */
public record DeployReport(
        int changeSets, List<ServerReport> servers, List<ShardFailure> failures, List<ShardDrift> differing) {

    /**
     * The result on one server.
     *
     * @param shards how many shards were looked at
     * @param deployed how many of them were changed
     * @param upToDate how many needed nothing
     */
    public record ServerReport(String server, int shards, int deployed, int upToDate, int failed) {}

    /** Whether every shard matches the changelog. */
    public boolean isComplete() {
        return failures.isEmpty() && differing.isEmpty();
    }
}
