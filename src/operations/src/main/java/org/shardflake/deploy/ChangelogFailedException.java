/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.Serial;

/** Thrown when the first shards show that a changeset can be deployed to none; no other shard was begun. */
public final class ChangelogFailedException extends DeployException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final transient ShardFailure failure;

    ChangelogFailedException(String message, ShardFailure failure) {
        super(message);
        this.failure = failure;
    }

    /** How it failed on the first of them, which is as it was. */
    public ShardFailure failure() {
        return failure;
    }
}
