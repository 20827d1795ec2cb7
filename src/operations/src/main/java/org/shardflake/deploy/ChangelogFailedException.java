/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.Serial;

/** Thrown when the first shards show that a changeset cannot be deployed to any; no other shard was started. */
public final class ChangelogFailedException extends DeployException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final transient ShardFailure failure;

    ChangelogFailedException(String message, ShardFailure failure) {
        super(message);
        this.failure = failure;
    }

    /** The failure on the first shard, which is unchanged. */
    public ShardFailure failure() {
        return failure;
    }
}
